"""Sentences with uninformative case are normalised for the model, and capitals are restored."""

from typing import Any

import pytest

from service.models.bundle import DEFAULT_BUNDLE, load
from service.text.languages import profile
from service.text.rules.casing import Case, in_truecase, is_in_capitals, says_nothing
from service.text.rules.placeholders import Placeholders
from service.text.run import Run
from service.text.tokenizer import Tokenizer
from tests.service.text.pipelines import assembled, take_apart

LOWER: dict[str, Any] = {"truecase": str.lower, "source": profile("de")}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The tokenizer of the bundled model, for English and German."""
    return Tokenizer(load(DEFAULT_BUNDLE).vocabulary)


@pytest.mark.parametrize(
    ("text", "seen", "answer", "expected"),
    [
        ("ACHTUNG, HUND!", "Achtung, hund!", "Beware of the dog!", "BEWARE OF THE DOG!"),
        ("(NICHT FÜTTERN)", "Nicht füttern", "Don't feed", "(DON'T FEED)"),
        ("RUF {name} AN!", "Ruf Tom an!", "Call Tom!", "CALL {name}!"),
        ("LIES https://a.org/b UND %s", "Lies Tom und Boston", "Tom, Boston", "https://a.org/b, %s"),
        ("NATO", "NATO", "NATO", "NATO"),
        ("Die NATO UND ICH", "Die NATO UND ICH", "NATO and I", "NATO and I"),
        ("WİR WARTEN", "WİR WARTEN", "We wait", "WE WAIT"),  # a lower-case İ is two characters
    ],
)  # fmt: skip
def test_case_is_normalised_for_the_model_and_restored(
    text: str, seen: str, answer: str, expected: str
) -> None:
    document = take_apart(text, "text", **LOWER)
    [sentence] = document.sentences
    assert sentence.text == seen
    assert assembled(document, [answer], [None]) == expected
    assert sentence.readable(answer) == expected.strip("()")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chybí {0}x{1}, pak %dms a b", "Chybí {0}x{1}, Pak %dms A B"),
        ("x${a} je zde ({b}/c.txt)", "x${a} Je Zde ({b}/c.txt)"),
        ("chyba:{0} tu dnes {1}: a={2} stran/{3}", "Chyba:{0} Tu Dnes {1}: a={2} Stran/{3}"),
        ("vítejte.{0} a konec:", "Vítejte.{0} A Konec:"),
        ("chybí %s/%s.txt a {0}jméno", "Chybí %s/%s.txt A {0}Jméno"),
        ("od:{0} do:{1} na konci", "Od:{0} Do:{1} Na Konci"),
        ("viz {0}/help.txt.gz a /help.txt", "Viz {0}/help.txt.gz A /help.txt"),
        ("%s_%s chybí tu dnes", "%s_%s Chybí Tu Dnes"),
        ("{0} chybí: {1}-datum, „{2}“jako", "{0} Chybí: {1}-Datum, „{2}“Jako"),
    ],
)
def test_what_joins_placeholders_keeps_its_case(text: str, expected: str) -> None:
    assert Case(str.title).prepare(Placeholders().prepare(Run(text))).text == expected


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Und du?", "and you?", "And you?"),
        ("Äpfel …", "äpfel …", "Äpfel …"),
        ("Ja.", "e-mail them.", "E-mail them."),
        ("Das iPhone!", "iPhone!", "iPhone!"),
        ("und du?", "and you?", "and you?"),
        ("Ja.", "5 apples.", "5 apples."),
        ("Ja.", "", ""),
    ],
)
def test_the_first_letter_has_the_case_of_the_source(
    source: str, translation: str, expected: str
) -> None:
    found = Case(str).restore(Run(source), Run(translation))
    assert found.text == expected


@pytest.mark.parametrize(
    ("code", "source", "translation", "expected"),
    [
        ("en", "Back", "zurück", "Zurück"),
        ("en", "back", "zurück", "zurück"),
        ("en", "(Back)", "(zurück)", "(zurück)"),
        ("en", "Sign in", "anmelden", "anmelden"),
        ("en", "Back", "{name}", "{name}"),
        ("tr", "Evet", "yes", "Yes"),
        ("de", "Haus", "house", "House"),
        ("de", "haus", "house", "house"),
        ("ka", "უკან", "back", "back"),
    ],
)
def test_a_single_word_is_capitalized_as_its_source(
    code: str, source: str, translation: str, expected: str
) -> None:
    case = Case(str, source=profile(code))
    assert case.restore(Run(source), Run(translation)).text == expected


def test_case_is_restored_around_markup() -> None:
    document = take_apart("<p>HUND &amp; KATZE {name}</p>", "html", "sentences", **LOWER)
    [sentence] = document.sentences
    assert sentence.text == "Hund & katze Tom"
    assert sentence.readable("Dog & cat Tom") == "DOG & CAT {name}"
    document = take_apart("<p>HUND &amp; KATZE</p>", "html", "sentences", **LOWER)
    assert assembled(document, ["Dog & cat"], [None]) == "<p>DOG &amp; CAT</p>"


@pytest.mark.parametrize(
    ("text", "nouns", "seen"),
    [
        ("der hund schläft in london", True, "der Hund schläft in London"),
        ("i think tom is in boston", False, "I think Tom is in Boston"),
        ("DER HUND UND DIE KATZE SCHLAFEN", True, "Der Hund und die Katze schlafen"),
        ("Create New Account For NASA", False, "Create new account for NASA"),
        ("How To Go To Boston With Tom", False, "How to go to Boston with Tom"),
        ("Angela Merkel, Vienna, Austria", False, "Angela Merkel, Vienna, Austria"),
        ("Save As", False, "Save as"),
        ("Guten Morgen", True, "Guten Morgen"),
        ("Der Hund Ist Nicht In London", True, "Der Hund ist nicht in London"),
        ("Leeren Sie Ihre Taschen!", True, "Leeren Sie Ihre Taschen!"),
        ("Ist Maria Ihre Tochter?", True, "Ist Maria Ihre Tochter?"),
        ("Der Spiegel Und Tom", True, "Der Spiegel Und Tom"),
        ("Tom loves Mary", False, "Tom loves Mary"),
        ("no results", False, "no results"),
        ("20 km", False, "20 km"),
    ],
)
def test_words_get_their_usual_case(
    tokenizer: Tokenizer, text: str, nouns: bool, seen: str
) -> None:
    source = profile("de" if nouns else "en")
    rules: dict[str, Any] = {"truecase": tokenizer.truecase, "source": source}
    [sentence] = take_apart(text, "text", spells=tokenizer.spells, **rules).sentences
    assert sentence.text == seen


def test_placeholders_and_tags_keep_their_places(tokenizer: Tokenizer) -> None:
    html = "<p>DER <b>HUND</b> IST BEI {Name}</p>"
    [sentence] = take_apart(html, "html", "sentences", truecase=tokenizer.truecase).sentences
    assert sentence.text == "Der Hund ist bei Tom"
    assert [(tag.at, tag.raw) for tag in sentence.tags] == [(4, "<b>"), (8, "</b>")]
    assert sentence.readable("Tom's dog") == "{Name}'S DOG"


def test_names_in_the_text_are_not_used_as_stand_ins_in_any_case(tokenizer: Tokenizer) -> None:
    [sentence] = take_apart("TOM SIEHT {name}", "text", truecase=tokenizer.truecase).sentences
    assert sentence.text == "Tom sieht Boston"
    assert sentence.readable("Tom sees Boston") == "TOM SEES {name}"


def test_a_text_whose_length_would_change_is_left_unchanged() -> None:
    assert in_truecase("İKİ ÜÇ DÖRT", str.lower, keeps_acronyms=False) == "İKİ ÜÇ DÖRT"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("これはNATOです。", False),
        ("NASAHQ 本部", False),
        ("זה UNESCO.", False),
        ("مكتب UNESCO", False),
        ("ეს UNESCO", False),
        ("องค์กร UNESCO", False),
        ("ВНИМАНИЕ! ДВЕРИ ЗАКРЫВАЮТСЯ.", True),
        ("ОБСЕ", False),
        ("ΠΡΟΣΟΧΗ ΣΤΟ ΚΕΝΟ", True),
        ("DİKKAT! IŞIK YOK.", True),
        ("ՈՒՇԱԴՐՈՒԹՅՈՒՆ", True),
        ("1ª PLANTA, Nº 5", False),
    ],
)
def test_only_scripts_with_case_have_capitals(text: str, expected: bool) -> None:
    assert is_in_capitals(text) == expected


@pytest.mark.parametrize("text", ["მე თბილისში ვცხოვრობ", "これは nato です か", "हम यहाँ रहते हैं"])
def test_a_text_with_few_cased_words_is_not_in_capitals(text: str) -> None:
    assert not says_nothing(text, capitalizes_nouns=False)


@pytest.mark.parametrize(
    ("source", "target", "text", "seen", "answer", "expected"),
    [
        ("tr", "en", "IŞIK YOK, DİKKAT!", "Işık yok, dikkat!", "Watch out!", "WATCH OUT!"),
        ("en", "tr", "NO LIGHT HERE!", "No light here!", "Işık yok, iyi!", "IŞIK YOK, İYİ!"),
        ("en", "el", "MIND THE GAP", "Mind the gap", "Προσοχή στο κενό", "ΠΡΟΣΟΧΗ ΣΤΟ ΚΕΝΟ"),
        ("ru", "de", "ВХОДА НЕТ!", "Входа нет!", "Kein Zutritt!", "KEIN ZUTRITT!"),
    ],
)
def test_upper_case_follows_the_language(
    source: str, target: str, text: str, seen: str, answer: str, expected: str
) -> None:
    languages: dict[str, Any] = {"source": profile(source), "target": profile(target)}
    document = take_apart(text, "text", truecase=profile(source).lower, **languages)
    [sentence] = document.sentences
    assert sentence.text == seen
    assert assembled(document, [answer], [None]) == expected


def test_a_turkish_sentence_begins_with_a_dotted_capital() -> None:
    for code, translation, expected in (("tr", "iyi.", "İyi."), ("ka", "ასე.", "ასე.")):
        case = Case(str, target=profile(code))
        assert case.restore(Run("How?"), Run(translation)).text == expected


def test_lower_case_for_the_vocabulary_follows_the_language(tokenizer: Tokenizer) -> None:
    assert tokenizer.truecase("IŞIK", profile("tr")) in ("Işık", "ışık")
    assert tokenizer.within("Iğdır", profile("tr")) in ("Iğdır", "ığdır")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lies main.c und my_file.c", "LIES main.c UND my_file.c"),
        ("lies /tmp und (/var-lib) und/oder /home", "LIES /tmp UND (/var-lib) UND/ODER /home"),
        ("die option key=value und _x, max_size", "DIE OPTION key=value UND _x, max_size"),
        ("z.b. um 5 uhr, nr.5 usw. ja", "Z.B. UM 5 UHR, NR.5 USW. JA"),
    ],
)
def test_names_in_programs_keep_their_case(text: str, expected: str) -> None:
    assert in_truecase(text, str.upper, keeps_acronyms=False) == expected


def test_units_keep_their_case() -> None:
    text = "es fährt 80 km/h und wiegt 2 t am tag"
    assert (
        in_truecase(text, str.upper, keeps_acronyms=False)
        == "ES FÄHRT 80 km/h UND WIEGT 2 t AM TAG"
    )
