r"""`python -m tests.check_copying URL`: check that translations preserve what they must, in random sentences.

Translates sentences with placeholders, with invented names, and in the target language already, 1,000 of each
kind and direction, and prints the percentage that is preserved. Takes a few minutes.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from export.evaluate import translate
from export.report import placeholder

_TEMPLATES = {
    "de": """
Hallo {}, schön dich zu sehen!|Ich habe {} gestern im Garten getroffen.|Bitte schicken Sie es an {}.
Wo wohnt {} jetzt?|{} hat mir das Buch geliehen.|Das Haus gehört {}.|Wir warten noch auf {} und {}.
Weder {} noch {} wusste davon.|Frag doch {}, ob noch Kaffee da ist.|Seit gestern ist {} krank.
Der Brief von {} kam heute an.|Ohne {} fangen wir nicht an.|Kennst du {}?|Morgen besuchen wir {}.""",
    "en": """
Hello {}, nice to see you!|I met {} in the garden yesterday.|Please send it to {}.|Where does {} live now?
{} lent me the book.|The house belongs to {}.|We are still waiting for {} and {}.
Neither {} nor {} knew about it.
Ask {} whether there is any coffee left.|Since yesterday {} has been ill.|The letter from {} came today.
We won't start without {}.|Do you know {}?|Tomorrow we are going to visit {}.""",
}
_VARIABLES = {
    "de": """
{} Dateien gelöscht|Datei {} nicht gefunden.|Willkommen zurück, {}!|{} von {} heruntergeladen
Die Datei {} konnte nicht geöffnet werden: {}|Möchten Sie {} wirklich löschen?|{} hat Sie zu {} eingeladen.
Zuletzt geändert: {}|Ihre Bestellung {} ist unterwegs.|Öffnen Sie {} und klicken Sie auf {}.""",
    "en": """
{} files deleted|File {} not found.|Welcome back, {}!|Downloaded {} of {}|The file {} could not be opened: {}
Do you really want to delete {}?|{} invited you to {}.|Last modified: {}|Your order {} is on its way.
Open {} and click on {}.""",
}
_ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kl",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "sch",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
)
_VOWELS = ("a", "e", "i", "o", "u", "ei", "au", "ie")
_CODAS = ["", "", "n", "r", "l", "s", "m", "rt", "nd", "ck", "lm"]
_ENDS = ("mann", "berg", "er", "ke", "ski", "sen", "owitz", "elli", "ard", "ow", "ing")


class Case(NamedTuple):
    """A sentence and the strings that its translation must preserve."""

    text: str
    kept: Sequence[str]


def _name(rng: random.Random) -> str:
    """Invent a word that sounds like a name."""
    parts = [
        rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
        for _ in range(rng.choice((1, 1, 2)))
    ]
    return ("".join(parts) + rng.choice(_ENDS)).capitalize()


def _filled(rng: random.Random, templates: str, made: str) -> Case:
    template = rng.choice(
        [one for line in templates.strip().splitlines() for one in line.split("|")]
    )
    make = _name if made == "name" else placeholder
    kept: list[str] = []
    while len(kept) < template.count("{}"):
        if (one := make(rng)) not in kept:
            kept.append(one)
    return Case(template.format(*kept), kept)


def cases(kind: str, source: str, count: int, seed: int) -> Iterator[Case]:
    """Yield `count` cases of a kind, the same for the same seed."""
    rng, other = random.Random(f"{seed} {kind} {source}"), "en" if source == "de" else "de"
    for _ in range(count):
        if kind == "placeholders":
            yield _filled(rng, _VARIABLES[source], "variable")
        elif kind == "names":
            yield _filled(rng, _TEMPLATES[source], "name")
        else:
            text = _filled(rng, _TEMPLATES[other], "name").text
            yield Case(text, [text])


def came_through(case: Case, translation: str) -> bool:
    """Check whether a translation has each string as often as the sentence."""
    return all(translation.count(one) == case.text.count(one) for one in case.kept)


def main(arguments: list[str] | None = None) -> int:
    """Translate, print the share preserved and some failures for each kind and direction; return 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.check_copying", description=__doc__)
    parser.add_argument("url", help="URL of the service, such as http://127.0.0.1:8000")
    parser.add_argument("--count", type=int, default=1000, help="sentences per kind and direction")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    for kind in ("placeholders", "names", "already"):
        for source, target in (("de", "en"), ("en", "de")):
            made = list(cases(kind, source, options.count, options.seed))
            answers = translate(options.url, [one.text for one in made], source, target)
            lost = [
                (one.text, text)
                for one, text in zip(made, answers, strict=True)
                if not came_through(one, text)
            ]
            print(f"{kind} {source}-{target}: {100 - 100 * len(lost) / len(made):.1f} %")
            for text, translation in lost[:3]:
                print(f"    {text} -> {translation}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
