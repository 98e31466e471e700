"""Half a surrogate pair: a character that a `str` may hold, and JSON can spell, but no encoding has."""


def unpaired_surrogate(text: str) -> int | None:
    r"""The place of the first in a text; None where all characters are whole.

    >>> unpaired_surrogate("ja\ud83d"), unpaired_surrogate("\U0001f600")
    (2, None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None
