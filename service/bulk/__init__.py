"""Translation of files line by line, in runs that can be resumed: `attendant translate FILE --out OUT`."""
