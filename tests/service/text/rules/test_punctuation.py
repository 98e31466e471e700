"""Punctuation is normalised as by Moses."""

import random

import pytest
import sacremoses

from service.text.rules.punctuation import Punctuation
from service.text.run import Protected, Run, Tag


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "„so“ and “so”", '"so" and "so"'),
        ("en", "‘it’s’ a dog´s `life`", "'it's' a dog's 'life'"),
        ("en", "1990–1995 — then … nothing", "1990-1995 - then ... nothing"),
        ("fr", "«\xa0oui\xa0», dit-elle\xa0!", '"oui", dit-elle!'),
        ("en", "«yes»", '"yes"'),
        ("en", "a(b)c , and ( d ) .", "a (b) c , and (d)."),
        ("en", "50 % : yes ; no", "50%: yes; no"),
        ("es", "nº\xa03 a 20\xa0ºC, 5\xa0cm", "nº 3 a 20 ºC, 5 cm"),
        ("en", "two  spaces", "two spaces"),
        ("en", 'He said "no". She said "yes", too', 'He said "no." She said "yes," too'),
        ("de", 'Er sagt "nein," und "ja." Gut', 'Er sagt "nein", und "ja". Gut'),
        ("de-AT", 'Er sagt "ja."', 'Er sagt "ja."'),
        ("pl", 'Powiedział "nie".', 'Powiedział "nie".'),
        ("de", "1\xa0000 Leute", "1\xa0000 Leute"),
        ("en", "(so) he went", "(so) he went"),
        ("en", "Plain text, nothing else.", "Plain text, nothing else."),
    ],
)
def test_punctuation_is_normalised(language: str, text: str, expected: str) -> None:
    assert Punctuation(language).prepare(Run(text)).text == expected


PARTS = ["a", "Wort", "3", " ", "  ", "\xa0", *"()„“”–—´‘’‚…«»`'\",;:!?%º.", "nº", "cm", "ºC"]


@pytest.mark.parametrize("language", ["en", "de", "pl"])
def test_punctuation_equals_moses_own_normalizer(language: str) -> None:
    rule, rng = Punctuation(language), random.Random(0)
    peer = sacremoses.MosesPunctNormalizer(language, norm_numbers=False)
    for _ in range(3000):
        text = "".join(rng.choices(PARTS, k=rng.randint(1, 9)))
        if "……" in text:  # Moses moves some dots of a long row in one language
            continue
        assert rule.prepare(Run(text)).text.strip() == peer.normalize(text), text


def test_protected_parts_are_unchanged_and_tags_follow_their_words() -> None:
    run = Run("„a–b“ – c", [Tag(8, "<b>", "open"), Tag(9, "</b>", "close")], [Protected(1, 4)])
    prepared = Punctuation("en").prepare(run)
    assert prepared.text == '"a–b" - c'
    assert prepared.protected == [Protected(1, 4)]
    assert [tag.at for tag in prepared.tags] == [8, 9]
    assert Punctuation("en").prepare(Run("…(x)", [], [Protected(0, 1)])).text == "… (x)"
