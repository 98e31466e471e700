"""A toy language pair that a few thousand weights learn in seconds, as text for tests."""

import itertools
import random
from pathlib import Path

NOUNS = {
    "Hund": ("der", "dog"),
    "Katze": ("die", "cat"),
    "Kind": ("das", "child"),
    "Vogel": ("der", "bird"),
    "Frau": ("die", "woman"),
    "Haus": ("das", "house"),
}
ADJECTIVES = {"alte": "old", "kleine": "small", "rote": "red", "gute": "good"}
VERBS = {"schläft": "sleeps", "singt": "sings", "wartet": "waits", "fällt": "falls"}
ADVERBS = {"": "", " heute": " today", " dort": " there"}


def sentences() -> list[tuple[str, str]]:
    """Return every German sentence of the toy language with its English translation."""
    pairs = []
    for (noun, (article, english)), (a, ea), (v, ev), (w, ew) in itertools.product(
        NOUNS.items(), ADJECTIVES.items(), VERBS.items(), ADVERBS.items()
    ):
        pairs.append(
            (f"{article.capitalize()} {a} {noun} {v}{w}.", f"The {ea} {english} {ev}{ew}.")
        )
        pairs.append(
            (
                f"{article.capitalize()} {noun} und {article} {a} {noun} {v}{w}.",
                f"The {english} and the {ea} {english} {ev}{ew}.",
            )
        )
    return pairs


def write_corpus(folder: Path, train: int, valid: int, seed: int = 0) -> None:
    """Write `train.de`, `train.en`, `valid.de` and `valid.en`, without a sentence in both splits."""
    pairs = sentences()
    random.Random(seed).shuffle(pairs)
    folder.mkdir(parents=True, exist_ok=True)
    for split, chosen in (("train", pairs[:train]), ("valid", pairs[train : train + valid])):
        for side, code in enumerate(("de", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in chosen)
            (folder / f"{split}.{code}").write_text(lines, encoding="utf-8")
