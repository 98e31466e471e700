"""Placeholders joined to words, and those that stand for numbers, with the bundled model."""

from collections.abc import Iterator

import pytest

from service.models.bundle import DEFAULT_BUNDLE, Bundle, load
from service.models.loading import ModelOptions, start_model
from service.models.model_set import ModelSet
from service.python_api import Translator


@pytest.fixture(scope="module", params=["with tokens", "as if it had been imported"])
def translator(request: pytest.FixtureRequest) -> Iterator[Translator]:
    bundle = load(DEFAULT_BUNDLE)
    if request.param != "with tokens":
        bundle = Bundle(bundle.folder, bundle.manifest.model_copy(update={"rules": {}}))
    model = start_model(bundle, ModelOptions(num_workers=1, single_sequence=False))
    translator = Translator(ModelSet([model], 10_000))
    yield translator
    translator.close()


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("de", "{name}s Geburtstag", "{name}'s birthday"),
        ("de", "{name}s Datei wurde gelöscht.", "{name}'s file"),
        ("de", "${user}s Konto", "${user}'s account"),
        ("de", "%1$ss Konto", "%1$s's account"),
        ("de", "Die {type}datei ist leer.", "{type} file"),
        ("de", "{count}ter Versuch", "{count}th attempt"),
        ("de", "mindestens {min} Zeichen", "at least {min} characters"),
        ("de", "{size}MB frei", "{size}MB free"),
        ("en", "This is {name}'s car.", "{name}s Auto"),
        ("en", "{user}'s profile", "{user}s Profil"),
        ("en", "the {n}th attempt", "{n}. Versuch"),
        ("en", "at least {min} characters", "mindestens {min} Zeichen"),
        ("en", "Between {min} and {max} characters", "{min} und {max} Zeichen"),
        ("en", "{count}px wide", "{count}px breit"),
    ],
)
def test_a_placeholder_is_translated_with_the_word_that_it_is_joined_to(
    source: str, text: str, expected: str, translator: Translator
) -> None:
    found = translator.translate(text, source, "en" if source == "de" else "de")
    assert expected in found.text
    assert [one.recovery for one in found.sentences] == [None]
