"""Unpaired surrogates: a `str` and JSON may contain them, but they cannot be encoded."""


def unpaired_surrogate(text: str) -> int | None:
    r"""Return the position of the first unpaired surrogate, or None.

    >>> unpaired_surrogate("ja\ud83d"), unpaired_surrogate("\U0001f600")
    (2, None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None
