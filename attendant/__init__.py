"""The command line: `attendant COMMAND`. A command's package is imported only when the command is called."""
