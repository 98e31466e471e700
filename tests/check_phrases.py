"""`python -m tests.check_phrases URL`: count the everyday phrases that a service translates as people would.

`tests/cases/phrases.tsv` lists greetings, formulas of letters, labels and signs, as phrasebooks have them,
each with the translations that are accepted. It was written before the bundled translation memory was. The
phrases that the memory lacks, which the model has to translate, are also counted on their own.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from export.evaluate import translate
from service.models.bundle import DEFAULT_BUNDLE, load

PHRASES = Path(__file__).parent / "cases" / "phrases.tsv"


class Phrase(NamedTuple):
    """A phrase, and its accepted translations."""

    source: str
    """A language code."""
    text: str
    accepted: list[str]


def phrases() -> Iterator[Phrase]:
    """Yield all phrases."""
    for line in PHRASES.read_text(encoding="utf-8").splitlines():
        source, text, accepted = line.split("\t")
        yield Phrase(source, text, accepted.split(" | "))


def is_right(phrase: Phrase, translation: str) -> bool:
    """Check whether a translation is accepted; only its first letter must have the right case."""
    return any(
        translation[:1] == one[:1] and translation.casefold() == one.casefold()
        for one in phrase.accepted
    )


def main() -> int:
    """Print the wrong translations of both directions, and count the right ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="URL of the service, such as http://127.0.0.1:8000")
    parser.add_argument("--least", type=int, default=180, help="right phrases per direction")
    options = parser.parse_args()
    bundle, is_enough = load(DEFAULT_BUNDLE), True
    for direction in bundle.manifest.directions:
        source, target = direction.source, direction.target
        asked = [phrase for phrase in phrases() if phrase.source == source]
        memory = bundle.memory(direction)
        answers = translate(options.url, [phrase.text for phrase in asked], source, target)
        right = others = num_others = 0
        for phrase, answer in zip(asked, answers, strict=True):
            is_other = memory.find(phrase.text) is None
            num_others += is_other
            if is_right(phrase, answer):
                right, others = right + 1, others + is_other
            else:
                print(f"{phrase.text}\n  {answer}\n  expected: {' | '.join(phrase.accepted)}")
        print(
            f"{source}-{target}: {right} of {len(asked)} are right; of {num_others} that the memory "
            f"lacks, {others} are"
        )
        is_enough &= right >= options.least
    return int(not is_enough)


if __name__ == "__main__":
    sys.exit(main())
