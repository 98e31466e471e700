"""What was translated under DeepL's paths since the start."""

from dataclasses import dataclass


@dataclass(slots=True)
class CharacterCount:
    """Characters of translated texts. Used on the event loop only."""

    total: int = 0
