"""The serving side: text in, translations out, with ONNX Runtime. Never imports torch, `model` or `export`.

For use from Python, it provides `Translator` and the types of its arguments and results. They are imported
on first use, because most modules of this package do not need them.
"""

import os
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

# since 1.29, ONNX Runtime reports its use to Microsoft by default; it reads this when it is imported
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from service.errors import AttendantError
    from service.python_api import Translator
    from service.translation.options import TranslationOptions
    from service.translation.types import Done, SentenceResult, TranslatedSentence, Translation
else:
    _HOMES = {
        "AttendantError": "service.errors",
        "TranslationOptions": "service.translation.options",
        "Translator": "service.python_api",
    }

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES.get(name, "service.translation.types")), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
