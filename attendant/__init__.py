"""The command line: `attendant COMMAND`; imports the package of a command only when that is called."""
