"""Names: recognized by their use, replaced in the same way on both sides, without other changes."""

import re
from collections import Counter
from pathlib import Path

import pytest

from model.augment.invented import Names, find_names
from model.augment.lexicon import load_lexicon
from model.augment.names import Exchange, main

PAIRS = [
    ("Tom kommt aus Boston.", "Tom comes from Boston."),
    ("Toms Hund heißt Bello.", "Tom's dog is called Bello."),
    ("Das Hotel in Boston war gut.", "The hotel in Boston was good."),
    ("Es war 1889 und kostete 3,50 Mark.", "It was 1889, and cost 3.50 marks."),
    ("In Bonn regnet es.", "In Bonn it rains."),
    ("Der Will will nicht in die Stadt.", "Will does not want to go to the city; he will not."),
    ("Ich schlafe gern.", "I like to sleep."),
]
NAMES = ["Bello", "Bonn", "Boston", "Tom"]


def test_names_are_capitalized_words_that_both_sides_share() -> None:
    # not nouns, which one side writes in lower case, nor words that mostly are; nor "Tom" if mostly "Toms"
    plain = [("Wir sind in Rom.", "We are in Rome."), ("Er ist in Wien.", "He is in Vienna.")]
    assert find_names(PAIRS + plain) == ["Bello", "Bonn", "Boston"]
    assert find_names(PAIRS + [("Tom aß.", "Tom ate.")] * 3) == NAMES


def test_text_other_than_names_and_numbers_is_unchanged() -> None:
    exchange = Exchange(NAMES, seed=3)
    for pair in PAIRS[:3]:
        new = exchange(pair)
        assert new is not None
        for before, after in zip(pair, new, strict=True):
            pattern = re.sub(r"\b(Tom|Boston|Bello)", r"\\w+", re.escape(before))
            assert re.fullmatch(pattern, after)


def test_every_occurrence_on_both_sides_is_replaced_by_the_same_name() -> None:
    names = [f"Name{letter * 4}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    exchange = Exchange([*names, "Tom"], seed=1)
    drawn: Counter[str] = Counter()
    for _ in range(200):
        new = exchange(("Tom sah Toms Hund.", "Tom saw Tom's dog."))
        assert new is not None
        name = new[0].split()[0]
        assert new == (f"{name} sah {name}s Hund.", f"{name} saw {name}'s dog.")
        drawn[name] += 1
    assert drawn.keys() & set(names)
    assert drawn.keys() - {*names, "Tom"}  # combinations of two names
    assert max(drawn.values()) < 30


TOWNS = [
    *("Adelheim", "Bamberg", "Coburg", "Dortmund", "Eisenach", "Frankfurt", "Göttingen"),
    *("Hannover",),
    *("Iserlohn", "Jena", "Kassel", "Leipzig", "Magdeburg", "Nürnberg", "Oldenburg", "Potsdam"),
    *("Quedlinburg", "Regensburg", "Stralsund", "Tübingen", "Ulm", "Vechta", "Wismar", "Zwickau"),
]


def test_invented_names_are_not_only_combinations_of_two_names() -> None:
    invention = Names(TOWNS, seed=2)
    names = [invention.draw() for _ in range(400)]
    made_of_two = {
        first[:cut] + second[-end:]
        for first in TOWNS
        for second in TOWNS
        for cut in range(2, len(first))
        for end in range(1, len(second))
    }
    invented = [name for name in names if name not in made_of_two.union(TOWNS)]
    assert len(set(invented)) > 20
    for name in names:
        assert re.fullmatch(r"[A-Z][a-zöü]{2,}", name)
    assert max(map(len, invented)) <= 12
    again = Names(TOWNS, seed=2)
    assert [again.draw() for _ in range(400)] == names


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Abc"], r"A[abc]+"),
        (["Abc", "Gab"], r"[AG][abcg]{2,}"),  # "ab" would be too short
        (["Aaaa"], r"Aa+"),  # with which names rarely end
        (["İzmir"], r"[İI][a-z]+"),
        (["NATO", "USA"], r"NATO|USA|[A-Z][a-z]+"),
    ],
)
def test_names_can_be_invented_from_any_list_of_names(names: list[str], expected: str) -> None:
    invention = Names(names, seed=1)
    for _ in range(200):
        name = invention.draw()
        assert re.fullmatch(expected, name)
        assert name.isalpha()


def test_numbers_keep_their_length_and_decimals_are_unchanged() -> None:
    new = Exchange(NAMES, seed=1)(PAIRS[3])
    assert new is not None
    found = re.fullmatch(r"Es war ([1-9]\d{3}) und kostete 3,50 Mark\.", new[0])
    assert found
    assert found[1] != "1889"
    assert new[1] == f"It was {found[1]}, and cost 3.50 marks."


WHOLE = """
languages = ["de", "en"]
[classes]
[parts]
firm = ["Kern & Sohn GmbH", "Red Lamp Ltd."]
whole_name = ["{firm}", "Am Tor {house}"]
"""


def test_names_of_several_words_replace_names_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "whole.toml"
    path.write_text(WHOLE, encoding="utf-8")
    exchange = Exchange(NAMES, 1, load_lexicon(str(path)))
    whole = re.compile(r"Kern & Sohn GmbH|Red Lamp Ltd\.|Am Tor \d+[abc]?|\w+")
    found = set()
    for _ in range(200):
        new = exchange(("In Bonn regnet es.", "It rains in Bonn now."))
        assert new is not None
        name = new[0].removeprefix("In ").removesuffix(" regnet es.")
        assert whole.fullmatch(name)
        assert new == (f"In {name} regnet es.", f"It rains in {name} now.")
        found.add(name)
    assert {"Kern & Sohn GmbH", "Red Lamp Ltd."} < found
    for _ in range(50):  # a genitive or a compound needs a single word
        new = exchange(PAIRS[1])
        assert new is not None
        assert re.match(r"\w+s Hund", new[0])
        new = exchange(("Der Bonn-Besuch war kurz.", "The visit to Bonn was short."))
        assert new is not None
        assert re.match(r"Der \w+-Besuch", new[0])


def test_a_lexicon_for_names_must_have_their_class_and_languages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for code in ("de", "en", "fr"):
        (tmp_path / f"train.{code}").write_text("In Bonn ist Tom.\n", encoding="utf-8")
    path = tmp_path / "whole.toml"
    path.write_text(WHOLE.replace("whole_name", "name_of_firm"), encoding="utf-8")
    rest = ["--lexicon", str(path), "--out", str(tmp_path / "out")]
    assert main([str(tmp_path), "--languages", "de", "en", *rest]) == 1
    assert "has no class whole_name" in capsys.readouterr().err
    assert main([str(tmp_path), "--languages", "fr", "en", *rest]) == 1
    assert "--lexicon: is for de en, not fr en" in capsys.readouterr().err


def test_a_pair_without_shared_names_or_numbers_is_left_out() -> None:
    exchange = Exchange(NAMES, seed=1)
    assert exchange(PAIRS[-1]) is None
    assert exchange(("Tom schläft.", "He sleeps.")) is None


def test_a_corpus_is_written_for_every_corpus_with_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpora = {"": PAIRS, "chat.": [PAIRS[0]] * 3, "plain.": [PAIRS[-1]] * 2}
    for name, pairs in corpora.items():
        for code, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
            (tmp_path / f"train.{name}{code}").write_text("\n".join(side) + "\n", encoding="utf-8")
    arguments = [str(tmp_path), "--languages", "de", "en", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "out").iterdir()}
    assert {name: text.count("\n") for name, text in written.items()} == {
        "train.names.de": 5,
        "train.names.en": 5,
        "train.chat-names.de": 3,
        "train.chat-names.en": 3,
    }
    assert "chat-names: 3 pairs, of 3" in capsys.readouterr().out
    assert main(arguments) == 0
    assert written == {path.name: path.read_text("utf-8") for path in (tmp_path / "out").iterdir()}


def test_missing_unaligned_and_nameless_texts_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(tmp_path), "--languages", "de", "en", "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    assert "has no training text" in capsys.readouterr().err
    (tmp_path / "train.de").write_text("Tom schläft.\nIch auch.\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("Tom sleeps.\n", encoding="utf-8")
    assert main(arguments) == 1
    assert "train.en: ends at line 1, but the other side continues" in capsys.readouterr().err
    (tmp_path / "train.de").write_text("Ich schlafe.\n", encoding="utf-8")
    (tmp_path / "train.en").write_text("I sleep.\n", encoding="utf-8")
    assert main(arguments) == 1
    assert "no pair has the same name on both sides" in capsys.readouterr().err
