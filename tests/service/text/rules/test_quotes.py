"""Quotes around words of a sentence follow these words."""

import pytest

from service.text.languages import profile
from service.text.rules.placeholders import Placeholders
from service.text.rules.quotes import Quotes
from service.text.run import Format, Run, Tag
from service.text.sentence import Sentence
from tests.service.text.pipelines import aligned, assembled, take_apart, unchanged


@pytest.mark.parametrize(
    ("text", "left", "tags"),
    [
        ("Ein „kleines Problem“.", "Ein kleines Problem.", [(4, "„"), (19, "“")]),
        ('"Ja" und »nein«', "Ja und nein", [(0, '"'), (2, '"'), (7, "»"), (11, "«")]),
        ("Ein ‚gutes‘ und ‘bad’", "Ein gutes und bad", [(4, "‚"), (9, "‘"), (14, "‘"), (17, "’")]),
        ("It's a 'small problem'.", "It's a small problem.", [(7, "'"), (20, "'")]),
        ('"Kommst du?", fragte er.', '"Kommst du?", fragte er.', []),  # a sentence of its own
        ("Ich sagte: „Geh.“", "Ich sagte: „Geh.“", []),
        (
            "'%s' fehlt, „{x}“ auch",
            "%s fehlt, {x} auch",
            [(0, "'"), (2, "'"), (10, "„"), (13, "“")],
        ),
        ('27" or 30", "offen', '27" or 30", "offen', []),
        (
            "So >>ja<<, >>Der Prozess<<",
            "So ja, Der Prozess",
            [(3, ">>"), (5, "<<"), (7, ">>"), (18, "<<")],
        ),
        ("So ,,ja'' und ,,nein\"", "So ja und nein", [(3, ",,"), (5, "''"), (10, ",,"), (14, '"')]),
        ("So ``yes, I'm'' here", "So yes, I'm here", [(3, "``"), (11, "''")]),
        ("a << b >> c, <<name>>, x>>y<<z", "a << b >> c, <<name>>, x>>y<<z", []),
        ("a,,b'' ,,c 'd", "a,,b'' ,,c 'd", []),
        ("rock 'n' roll, don't, the boys' ball", "rock 'n' roll, don't, the boys' ball", []),
        ('`a = "b"` {"x"} lang="de"', '`a = "b"` {"x"} lang="de"', []),
        (
            'So ("ja") – "nein"/"gut".',
            "So (ja) – nein/gut.",
            [
                (4, '"'),
                (6, '"'),
                (10, '"'),
                (14, '"'),
                (15, '"'),
                (18, '"'),
            ],
        ),
    ],
)
def test_quotes_become_tags(text: str, left: str, tags: list[tuple[int, str]]) -> None:
    run = Quotes().prepare(Placeholders().prepare(Run(text)))
    assert run.text == left
    assert [(tag.at, tag.raw) for tag in run.tags] == tags


def test_elements_around_and_beside_quotes_nest() -> None:
    html = '<p>Der <b>"alte"</b> <i>"rote"</i> Hund "mit <b>Fell</b>" schläft.</p>'
    assert unchanged(take_apart(html, "html", "sentences")) == html


@pytest.mark.parametrize("text", ['„Ja“, sagte er. Ein "gutes" Wort.', "»Ja, gut«\n'Nicht doch'"])
def test_a_copied_text_is_unchanged(text: str) -> None:
    assert unchanged(take_apart(text, "text")) == text


@pytest.mark.parametrize(
    ("target", "expected"),
    [("en", 'Sleeping is the "old" dog.'), ("und", "Sleeping is the „old“ dog.")],
)
def test_quotes_follow_their_words_in_the_target_style(target: str, expected: str) -> None:
    document = take_apart("Der „alte“ Hund schläft.", "text", target=profile(target))
    [sentence] = document.sentences
    translation, links = "Sleeping is the old dog.", [3, 3, 0, 1, 2, 4]
    alignment = aligned(sentence.text, translation, links)
    assert assembled(document, [translation], [alignment]) == expected


@pytest.mark.parametrize("text", [">>alte<<", ",,alte''", ',,alte"', "``alte''"])
@pytest.mark.parametrize("target", ["en", "und"])
def test_typed_quotes_are_like_printed_ones(text: str, target: str) -> None:
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    document = take_apart(f"<p>Der {escaped} Hund</p>", "html", target=profile(target))
    [sentence] = document.sentences
    assert sentence.text == "Der alte Hund"
    alignment = aligned(sentence.text, "the old dog", [0, 1, 2])
    expected = '"old"' if target == "en" else escaped.replace("alte", "old")
    assert assembled(document, ["the old dog"], [alignment]) == f"<p>the {expected} dog</p>"


def test_quotes_around_a_sentence_need_no_alignment() -> None:
    parts = take_apart('"Ja, gut"\n*"Nein"*', "text").parts
    assert [len(one.tags) for one in parts if isinstance(one, Sentence)] == [0, 0]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("„Ich komme nicht.“ Dann ging er.", "„{Ich komme nicht.}“ {Dann ging er.}"),
        ("„Eins. Zwei ist da.“", "„{Eins.} {Zwei ist da.}“"),
        ("« (Ja, ja) »", "« ({Ja, ja}) »"),
        ("(Siehe Punkt a. Oder b)", "({Siehe Punkt a.} {Oder b})"),
        ('"Hallo", sagte "er"', "{Hallo, sagte er}"),
        ("Er sagte: „Ja.“", "{Er sagte: „Ja.“}"),
        ("(A) und (B)", "{(A) und (B)}"),
        ('Sie hat 24"', '{Sie hat 24"}'),
        ("[x] Erledigt (hier)", "{[x] Erledigt (hier)}"),
        ('""', '""'),
        ("<b>„Ja“</b>", "<b>„{Ja}“</b>"),
        ("„<b>Ja</b>“", "„<b>{Ja}</b>“"),
    ],
)
def test_quotes_around_a_sentence_are_not_part_of_it(text: str, marked: str) -> None:
    form: Format = "html" if "<" in text else "text"
    parts = take_apart(text, form).parts
    assert "".join(one if isinstance(one, str) else f"{{{one.text}}}" for one in parts) == marked


@pytest.mark.parametrize("text", ['DE89 3704 "', '" Eins.', 'Eins "'])
def test_spaces_beside_other_quotes_are_kept(text: str) -> None:
    for code in ("de", "fr", "ar"):
        parts = take_apart(text, "text", target=profile(code)).parts
        written = "".join(one if isinstance(one, str) else one.text for one in parts)
        assert len(written) == len(text)


def test_quotes_around_a_sentence_have_the_target_style() -> None:
    parts = take_apart("« Eins. Zwei »", "text", target=profile("de")).parts
    assert [one for one in parts if isinstance(one, str)] == ["„", " ", "“"]  # without spaces


@pytest.mark.parametrize(
    ("target", "expected"),
    [("en", 'a "kind" dog'), ("de", "a „kind“ dog"), ("und", "a «\u00a0kind » dog")],
)
def test_french_quotes_have_inner_spaces(target: str, expected: str) -> None:
    [sentence] = take_apart("un «\u00a0bon » chien", "text", target=profile(target)).sentences
    assert sentence.text == "un bon chien"
    alignment = aligned(sentence.text, "a kind dog", [0, 1, 2])
    assert sentence.translated("a kind dog", alignment).written() == expected


@pytest.mark.parametrize(
    ("text", "symbol", "expected"),
    [
        ("« Merci »", [], '"Merci"'),
        ("« Merci »", [Tag(8, "🙂 ", "void")], '"Merci 🙂 "'),
        ("« Merci »", [Tag(2, "🙂 ", "void")], '"🙂 Merci"'),
        ('She said: "', [], 'She said: "'),
        ("Elle dit : «", [], 'Elle dit : "'),
    ],
)
def test_only_spaces_inside_french_quotes_are_removed(
    text: str, symbol: list[Tag], expected: str
) -> None:
    assert Quotes("\"\"''").prepare(Run(text, symbol)).written() == expected
