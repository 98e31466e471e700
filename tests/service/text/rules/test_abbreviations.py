"""Abbreviations written out before a text is translated."""

from pathlib import Path

import pytest

from service.errors import BundleError
from service.text.languages import profile
from service.text.rules.abbreviations import Abbreviations
from service.text.run import Run, replaced, shifted
from tests.service.text.pipelines import take_apart

TABLE = (
    "de\tz. B.\tzum Beispiel\nde\tusw.\tund so weiter.\nde\tca.\tungefähr\nen\te.g.\tfor example\n"
)


@pytest.fixture
def german(tmp_path: Path) -> Abbreviations:
    path = tmp_path / "abbreviations.tsv"
    path.write_text(TABLE, encoding="utf-8")
    return Abbreviations.read(path, "de")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Obst, z. B. Äpfel", "Obst, zum Beispiel Äpfel"),
        ("Obst, z.B. Äpfel", "Obst, zum Beispiel Äpfel"),
        ("Obst (z.\u00a0B. Äpfel)", "Obst (zum Beispiel Äpfel)"),
        ("Z. B. Äpfel, e.g. apples", "Zum Beispiel Äpfel, e.g. apples"),
        ("Äpfel, Birnen usw.", "Äpfel, Birnen und so weiter."),
        ("Äpfel usw.\nBirnen usw. ", "Äpfel und so weiter.\nBirnen und so weiter. "),
        ("„Äpfel usw.“", "„Äpfel und so weiter.“"),
        ("Äpfel usw. Was noch?", "Äpfel und so weiter. Was noch?"),
        ("Äpfel usw. und Birnen", "Äpfel und so weiter und Birnen"),
        ("Äpfel usw., Birnen usw.?", "Äpfel und so weiter, Birnen und so weiter?"),
        ("Es sind ca. 20, ca. Zehn", "Es sind ungefähr 20, ungefähr Zehn"),
        ("circa. usw.x www.usw.de /usw. @usw. #ca.", "circa. usw.x www.usw.de /usw. @usw. #ca."),
        ("zB usw CA.", "zB usw CA."),
        ("", ""),
    ],
)
def test_what_is_written_out(german: Abbreviations, text: str, expected: str) -> None:
    assert german.prepare(Run(text)).text == expected


def test_small_letters_of_any_language_begin_no_sentence() -> None:
    polish = Abbreviations({"itd.": "i tak dalej."})
    text = "Śliwki itd. żółte, gruszki itd. Źle!"
    assert polish.prepare(Run(text)).text == ("Śliwki i tak dalej żółte, gruszki i tak dalej. Źle!")


def test_tags_and_placeholders_stay_where_they_were(german: Abbreviations) -> None:
    html = '<p>Obst, <b>z. B.</b> <i>Äpfel</i> <span translate="no">usw.</span> usw.</p>'
    document = take_apart(html, "html", "sentences", abbreviations=german, source=profile("de"))
    [sentence] = document.sentences
    kept = '<span translate="no">usw.</span>'
    whole = f"Obst, zum Beispiel Äpfel {kept} und so weiter."
    assert sentence.readable(sentence.text) == whole
    tagged = sentence.text
    for tag in sorted(sentence.tags, key=lambda one: one.at, reverse=True):
        tagged = tagged[: tag.at] + tag.raw + tagged[tag.at :]
    assert tagged.startswith("Obst, <b>zum Beispiel</b> <i>Äpfel</i> ")


def test_positions_follow_what_is_replaced() -> None:
    places = [(1, 3, "xyz"), (5, 5, "_"), (6, 9, "")]
    assert replaced("abcdefghij", places) == "axyzde_fj"
    assert shifted([0, 1, 2, 3, 5, 6, 7, 9, 10], places) == [0, 1, 4, 4, 7, 8, 8, 8, 9]
    assert shifted([], places) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"de\tusw.\n", r"line 1 must be a language, .* and is \['de', 'usw.'\]"),
        (b"de\tusw.\tx\nde\t\tx\n", "line 2 must be"),
        (b"\xff", "cannot be read"),
    ],
)
def test_a_wrong_table_is_told_where(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "abbreviations.tsv"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=message):
        Abbreviations.read(path, "de")
