"""Files translated line by line, in runs that may be killed: `attendant translate FILE --out OUT`."""
