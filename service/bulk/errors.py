"""What ends a run of `attendant translate FILE --out OUT`, as a message for whoever began it."""


class BulkError(Exception):
    """The run cannot begin, go on, or read its input; the message says what would help."""
