"""ICU messages: their branches are whole sentences to translate, and mean what they meant."""

import re
from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from service.text.document import Document, take_apart
from service.text.markup import messages
from service.text.pipeline import Pipeline
from service.text.prose import prose
from service.text.rules.placeholders import Placeholders
from service.text.sentence import Sentence
from tests.service.text.markup.icu import NotAMessageError, formatted
from tests.service.text.pipelines import unchanged

PIPELINE = Pipeline([Placeholders()])
FILES = "{n, plural, one {# file} other {# files}}"


def read(text: str) -> Document:
    return take_apart(text, "text", pipeline=PIPELINE)


def bracketed(text: str) -> str:
    """Return an untranslated text with each sentence in ⟨⟩."""
    return "".join(
        f"⟨{part.source.written()}⟩" if isinstance(part, Sentence) else part
        for part in read(text).parts
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{n, plural, =0 {no file} other {# files}}", "{n, plural, =0 {⟨no file⟩} other {⟨# files⟩}}"),
        (
            f"You have {FILES} here.",
            "{n, plural, one {⟨You have # file here.⟩} other {⟨You have # files here.⟩}}",
        ),
        (
            "{who, select, he {He} other {They}} liked it.",
            "{who, select, he {⟨He liked it.⟩} other {⟨They liked it.⟩}}",
        ),
        (
            "Your {n, selectordinal, offset:1 one {# first} other {# last}} [visit](/a), {name}!",
            "{n, selectordinal, offset:1 one {⟨Your # first [visit](/a), {name}!⟩}"
            " other {⟨Your # last [visit](/a), {name}!⟩}}",
        ),
        (
            "{g, select, a {Her} other {Their}} {n, plural, one {# cat is} other {# cats are}} here.",
            "{g, select, a {{n, plural, one {⟨Her # cat is here.⟩} other {⟨Her # cats are here.⟩}}}"
            " other {{n, plural, one {⟨Their # cat is here.⟩} other {⟨Their # cats are here.⟩}}}}",
        ),
        (
            "{g, select, a {I see {n, plural, one {# cat} other {# cats}} here} other {no}}",
            "{g, select, a {{n, plural, one {⟨I see # cat here⟩} other {⟨I see # cats here⟩}}} other {⟨no⟩}}",
        ),
        (  # in a select within a plural, `#` is no number
            f"I gave {FILES} to {{g, select, a {{her}} other {{him}}}}.",
            "{g, select, a {{n, plural, one {⟨I gave # file to her.⟩} other {⟨I gave # files to her.⟩}}}"
            " other {{n, plural, one {⟨I gave # file to him.⟩} other {⟨I gave # files to him.⟩}}}}",
        ),
        (
            f"You have {FILES} and {{m, plural, one {{#}} other {{#}}}} left",
            "{n, plural, one {⟨You have # file and {m, plural, one {#} other {#}} left⟩}"
            " other {⟨You have # files and {m, plural, one {#} other {#}} left⟩}}",
        ),
        (
            f"Hello {{name}}: at 10: {FILES} here",
            "{n, plural, one {⟨Hello {name}: at 10: # file here⟩}"
            " other {⟨Hello {name}: at 10: # files here⟩}}",
        ),
        (
            f"Hi {{name}}. You have {FILES}. Bye!",
            "⟨Hi {name}.⟩ {n, plural, one {⟨You have # file.⟩} other {⟨You have # files.⟩}} ⟨Bye!⟩",
        ),
        (
            f"- **You have {FILES} here.**\n- More",
            "- **{n, plural, one {⟨You have # file here.⟩} other {⟨You have # files here.⟩}}**\n- ⟨More⟩",
        ),
        (
            f"| a | See {FILES} |\n|---|---|\n| b | c |",
            "| ⟨a⟩ | {n, plural, one {⟨See # file⟩} other {⟨See # files⟩}} |\n|---|---|\n| ⟨b⟩ | ⟨c⟩ |",
        ),
        (
            f"<ul><li>{FILES}</li><li><b>{FILES}</b></li></ul>",
            "<ul><li>{n, plural, one {⟨# file⟩} other {⟨# files⟩}}</li>"
            "<li><b>{n, plural, one {⟨# file⟩} other {⟨# files⟩}}</b></li></ul>",
        ),
        (f"Hi!\n({FILES})", "⟨Hi!⟩\n({n, plural, one {⟨# file⟩} other {⟨# files⟩}})"),
        (f"{FILES}}}", "{n, plural, one {⟨# file⟩} other {⟨# files⟩}}}"),
        (f"1. }} {{{FILES} {{", "1. } {{n, plural, one {⟨# file⟩} other {⟨# files⟩}} {"),
        (f"{{n}} {FILES}", "{n} {n, plural, one {⟨# file⟩} other {⟨# files⟩}}"),
        (
            "The dogs' {g, select, other {eyes}} aren't '{red}'.",
            "{g, select, other {⟨The dogs' eyes aren't '{red}'.⟩}}",
        ),
        ("{n, plural, other {it''s '{' b '#'}}", "{n, plural, other {⟨it''s '{' b '#'⟩}}"),
        ("You {n, plural, one {} other {(#)}}", "⟨You {n, plural, one {} other {(#)}}⟩"),
        (f"Take '{FILES}'", f"⟨Take '{FILES}'⟩"),
        ("{n, plural, one {ab", "⟨{n, plural, one {ab⟩"),
        ("{n, plural, ab} cd", "⟨{n, plural, ab} cd⟩"),
        ("{n, number, integer} {n} a", "⟨{n, number, integer} {n} a⟩"),
    ],
)  # fmt: skip
def test_words_around_an_argument_move_into_its_branches(text: str, parts: str) -> None:
    assert bracketed(text) == parts
    assert not any(sentence.problem for sentence in read(text).sentences)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"Issue #5 has {FILES} now.", f"⟨Issue #5 has {FILES} now.⟩"),  # # would be a number
        (
            "{n, plural, one {# file of {g, select, a {her} other {his}} dog} other {}}",
            "{n, plural, one {⟨# file of {g, select, a {her} other {his}} dog⟩} other {}}",
        ),
        (f"I see [{FILES}](/a#b) now.", f"⟨I see [{FILES}](/a#b) now.⟩"),
        ("See {g, select, other {a '{x}'}}'s b", "⟨See {g, select, other {a '{x}'}}'s b⟩"),
        (f"inbox=See {FILES} here", f"⟨inbox=See {FILES} here⟩"),
        (f"let text = 'See {FILES} here'", f"⟨let text = 'See {FILES} here'⟩"),
        (f"inbox: See {FILES} here", f"⟨inbox: See {FILES} here⟩"),
        (f"inbox : See {FILES} here", f"⟨inbox : See {FILES} here⟩"),
        (f"A\n  'inbox': See {FILES} here", f"⟨A⟩\n  ⟨'inbox': See {FILES} here⟩"),
        (f'Inbox: "See {FILES} here"', f'⟨Inbox: "See {FILES} here"⟩'),
        (f'"See {FILES} here"', f'⟨"See {FILES} here"⟩'),
        (f"**A {FILES} b. C d**", f"⟨**A {FILES} b.⟩ ⟨C d**⟩"),
        (
            f"Note: {FILES} here, {FILES}",
            f"⟨Note: {FILES} here,⟩ {{n, plural, one {{⟨# file⟩}} other {{⟨# files⟩}}}}",
        ),
        (f"{FILES} in #1", "{n, plural, one {⟨# file⟩} other {⟨# files⟩}} ⟨in #1⟩"),
    ],
)  # fmt: skip
def test_arguments_that_must_not_move_are_told(text: str, parts: str) -> None:
    assert bracketed(text) == parts
    sentences = read(text).sentences
    left = [one for one in sentences if re.search(", (plural|select),", one.as_written)]
    assert [sentence for sentence in sentences if sentence.problem] == left
    for sentence in left:
        assert sentence.problem.startswith('the branches of "{')


def test_of_two_plurals_the_number_of_the_first_does_not_move_into_the_second() -> None:
    second = "{m, plural, one {# box} other {# boxes}}"
    assert bracketed(f"I put {FILES} in {second} here") == (
        f"{{n, plural, one {{⟨I put # file in {second} here⟩}}"
        f" other {{⟨I put # files in {second} here⟩}}}}"
    )
    assert all(one.problem for one in read(f"I put {FILES} in {second} here").sentences)


def test_a_number_sign_in_a_select_stays_one() -> None:
    assert bracketed(f"See {FILES} in {{g, select, a {{#}} other {{b}}}} now") == (
        f"{{g, select, a {{⟨See {FILES} in # now⟩}} other "
        "{{n, plural, one {⟨See # file in b now⟩} other {⟨See # files in b now⟩}}}}"
    )


def test_a_problem_is_told_without_enough_stand_ins_too() -> None:
    sentences = read(f"No. {'{x} ' * 30} a = file{FILES}s").sentences
    assert len(sentences) > 1
    assert any(sentence.problem for sentence in sentences)


@pytest.mark.parametrize("count", [3, 8, 9, 2000])
def test_copies_are_limited(count: int) -> None:
    around = "We see the dog " * 50
    branches = "".join(f"a{number} {{b}} " for number in range(count))
    text = f"{around}{{g, select, {branches}}} here."
    sentences = read(text).sentences
    assert len(sentences) == (count if count <= messages.MAX_GROWTH else 1)
    assert [bool(sentence.problem) for sentence in sentences] == [
        count > messages.MAX_GROWTH for _ in sentences
    ]


def test_copies_that_are_split_again_count_towards_the_limit() -> None:
    """Two arguments with two branches make 2 + 4 copies, three would make 2 + 4 + 8."""
    around = "We see the dog " * 50
    arguments = [f"{{{name}, select, a {{b}} other {{c}}}} and " for name in "gxy"]
    sentences = read(around + "".join(arguments[:2]) + "so on").sentences
    assert [bool(sentence.problem) for sentence in sentences] == [False] * 4
    sentences = read(around + "".join(arguments) + "so on").sentences
    assert [bool(sentence.problem) for sentence in sentences] == [True] * 4


@pytest.mark.parametrize(
    "opening", ["{g, select, a {b} c {d", "x {g, select, a {b", "{g, select, a {"]
)
def test_nested_copies_are_limited(opening: str) -> None:
    closing = " y}}"
    text = "We see " + opening * 50 + "z" + closing * 50 + " the dog here."
    assert sum(len(part) for part in unchanged(read(text))) <= (messages.MAX_GROWTH + 1) * len(text)


def test_repeated_arguments_are_limited() -> None:
    text = "See {g, select, a {b} other {c}} and " * 50 + "so on"
    assert sum(len(one.as_written) for one in read(text).sentences) <= messages.MAX_GROWTH * len(
        text
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Use '{name}' for {n, number}!", ["'{name}'", "{n, number}"]),
        ("Use '{name}' for {d, date, short}!", ["'{name}'", "{d, date, short}"]),
        ("Use '{name}' for { n , spellout }!", ["'{name}'", "{ n , spellout }"]),
        ("Use '{name}' for {n, numbers}!", ["{name}", "{n, numbers}"]),  # quotation marks
        ("Use '{name}' for {n}!", ["{name}", "{n}"]),
    ],
)
def test_an_argument_with_a_type_tells_that_apostrophes_quote(text: str, kept: list[str]) -> None:
    [sentence] = read(text).sentences
    assert [sentence.source.raw(part) for part in sentence.source.protected] == kept


def test_words_in_branches_tell_the_language() -> None:
    text = "x {g, select, a {der {n, plural, one {Hund} other {Hunde}} da} other {kein}} y"
    assert set(prose(text, "text", (), 1000).split()) == {
        "x",
        "y",
        "der",
        "Hund",
        "Hunde",
        "da",
        "kein",
    }


WORDS = st.sampled_from(
    [
        "a dog",
        " ",
        ". A cat ",
        "'",
        "it''s ",
        "'{",
        "}'",
        "'{x}'",
        "'#'",
        "#",
        "{x}",
        " **b** ",
        ": ",
    ]
)
PIECES = st.lists(WORDS, max_size=4).map("".join)


def _arguments(branch: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plural = st.builds(
        "{{n, plural, =0 {{{}}} one {{{}}} other {{{}}}}}".format, branch, branch, branch
    )
    shifted = st.builds("{{n, plural, offset:1 one {{{}}} other {{{}}}}}".format, branch, branch)
    selected = st.builds("{{x, select, y {{{}}} other {{{}}}}}".format, branch, branch)
    argument = plural | shifted | selected
    return st.lists(st.tuples(PIECES, argument, PIECES).map("".join), max_size=2).map("".join)


VALUES: list[dict[str, int | str]] = [
    {"n": number, "x": word} for number, word in product([0, 1, 2, 5], ["y", "z"])
]


@given(st.recursive(PIECES, _arguments, max_leaves=8))
@example("it's {x, select, other {a '{' b '}' }} and # '{x}' c")
@example("a {x, select, other {b '{x}'}}'{x}' c")
@settings(max_examples=300)
def test_a_copied_message_means_the_same(text: str) -> None:
    assume("'#" not in text)  # its meaning depends on the library
    assume("''" not in text.replace("it''s", ""))  # emphasis in wikis
    try:
        meant = [formatted(text, values) for values in VALUES]
    except NotAMessageError:
        assume(False)
    copied = unchanged(read(text))
    assert [formatted(copied, values) for values in VALUES] == meant
