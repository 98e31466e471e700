"""The error that ends a run of `attendant translate FILE --out OUT`."""


class BulkError(Exception):
    """The run cannot start or continue, or cannot read its input; the message says what to do."""
