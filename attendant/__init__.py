"""The command line, `attendant COMMAND`, and the Python API under the name of the project.

Neither imports another package before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__all__ = [
    "AttendantError",
    "Done",
    "SentenceResult",
    "TranslatedSentence",
    "Translation",
    "TranslationOptions",
    "Translator",
]

if TYPE_CHECKING:
    from service import (
        AttendantError,
        Done,
        SentenceResult,
        TranslatedSentence,
        Translation,
        TranslationOptions,
        Translator,
    )
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("service"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
