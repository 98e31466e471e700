"""Training pairs from catalogues and translation memories, and what is left out."""

from collections import Counter
from pathlib import Path

import polib
import pytest

from model.collect import cut, find_files, main, read

CATALOGUE = """\
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: de_DE\\n"

msgid "The gate is closed. Who has the key?"
msgstr "Das Tor ist zu. Wer hat den Schlüssel?"

msgid "Open the gate"
msgstr "Öffne das Tor"

msgctxt "again"
msgid "Open the gate"
msgstr "Öffne das Tor"

msgid "Hello, %s!"
msgstr "Hallo, %s!"

msgid "OK"
msgstr "OK"

#, fuzzy
msgid "Close the gate"
msgstr "Öffne das Tor"

msgid "Not yet"
msgstr ""

msgid "One gate"
msgid_plural "Gates"
msgstr[0] "Ein Tor"
msgstr[1] "Tore"

#~ msgid "Long gone."
#~ msgstr "Lange her."
"""
MEMORY = """\
<?xml version="1.0"?>
<tmx version="1.4"><header/><body>
<tu>
<tuv xml:lang="en-US"><seg>Good <bpt i="1"/>morning.</seg></tuv>
<tuv xml:lang="DE"><seg>Guten Morgen.</seg></tuv>
</tu>
<tu><tuv xml:lang="en"><seg>Alone.</seg></tuv><tuv xml:lang="fr"><seg>Seul.</seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tree like those of applications, with two languages and two kinds of files."""
    for code in ("de", "fr"):
        (tmp_path / "locale" / code).mkdir(parents=True)
        (tmp_path / "locale" / code / "app.po").write_text(
            CATALOGUE.replace("de_DE", code), encoding="utf-8"
        )
    (tmp_path / "office.tmx").write_text(MEMORY, encoding="utf-8")
    return tmp_path


def collected(arguments: list[str], out: Path, name: str) -> list[tuple[str, str]]:
    assert main([*arguments, "--out", str(out)]) == 0
    sides = [
        (out / f"{name}.{code}").read_text(encoding="utf-8").splitlines() for code in ("de", "en")
    ]
    return list(zip(*sides, strict=True))


def test_folders_are_searched_for_texts_translated_into_the_language(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(folder), "--languages", "de", "en", "--name", "ours"]
    assert collected(command, folder / "out", "train.ours") == [
        ("Das Tor ist zu.", "The gate is closed."),
        ("Wer hat den Schlüssel?", "Who has the key?"),
        ("Öffne das Tor", "Open the gate"),
        ("Öffne das Tor", "Open the gate"),  # in two contexts
        ("Guten Morgen.", "Good morning."),
    ]
    printed = capsys.readouterr().out
    assert printed.startswith("5 pairs of 3 files; left out: ")
    for count in (
        "3 not translated, or fuzzy",
        "1 with plural forms",
        "1 files in other languages",
        "1 without one of the languages",
        "1 with placeholders or markup",
        "1 empty or the same on both sides",
    ):
        assert count in printed


def test_lines_of_a_table_for_one_direction_are_kept_for_that_direction_only(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = folder / "memory.tsv"
    table.write_text("en\tde\ncheers\tprost\ncheers\tzum Wohl\ten\nhi there\thallo\tde\n", "utf-8")
    command = [str(table), "--languages", "de", "en", "--name", "said"]
    both = [("prost", "cheers")]
    assert collected(command, folder / "out", "train.said") == both
    assert "2 for one direction" in capsys.readouterr().out
    into_english = collected([*command, "--into", "en"], folder / "out", "train.said")
    assert into_english == [*both, ("zum Wohl", "cheers")]
    into_german = collected([*command, "--into", "de"], folder / "out", "train.said")
    assert into_german == [*both, ("hallo", "hi there")]
    assert main([*command, "--into", "fr", "--out", str(folder)]) == 1
    assert "--into fr: is not among de en" in capsys.readouterr().err
    french = [str(table), "--languages", "fr", "en", "--out", str(folder / "out")]
    assert main(french) == 0
    assert "1 files in other languages" in capsys.readouterr().out


def test_only_sentences_are_kept_with_the_option(folder: Path) -> None:
    command = [str(folder / "locale/de/app.po"), "--languages", "de", "en", "--sentences"]
    assert [pair[0] for pair in collected(command, folder / "out", "train")] == [
        "Das Tor ist zu.",
        "Wer hat den Schlüssel?",
    ]


def test_messages_can_be_in_either_language(tmp_path: Path) -> None:
    path = tmp_path / "en.mo"
    catalogue = polib.POFile()
    catalogue.append(polib.POEntry(msgid="Guten Abend", msgstr="Good evening"))
    catalogue.save_as_mofile(str(path))
    counts: Counter[str] = Counter()
    assert list(read(path, ("de", "en"), "de", counts)) == [("Guten Abend", "Good evening")]
    assert list(read(path, ("de", "en"), "en", counts)) == []
    assert +counts == {"files in other languages": 1}


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (("Ja.\n\nNein.", "Yes.\nNo."), [("Ja.", "Yes."), ("Nein.", "No.")]),
        (
            ("Er kam. Sie ging.", "He came, she left."),
            [("Er kam. Sie ging.", "He came, she left.")],
        ),
        (
            ("Komm her! Jetzt.", "Come here! Now."),
            [("Komm her!", "Come here!"), ("Jetzt.", "Now.")],
        ),
        # as many, but not translations of each other
        (
            ("Ja. Das ist ein langer Satz, der zweite.", "A long sentence, it was the first. Yes."),
            [
                (
                    "Ja. Das ist ein langer Satz, der zweite.",
                    "A long sentence, it was the first. Yes.",
                )
            ],
        ),
        (("zeilen-\nweise", "line  by line"), [("zeilen- weise", "line by line")]),
    ],
)
def test_texts_are_split_where_both_sides_have_matching_sentences(
    text: tuple[str, str], pairs: list[tuple[str, str]]
) -> None:
    assert cut(text) == pairs


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("broken.tmx", "<tmx><tu>", "broken.tmx: cannot be read: no element found"),
        ("broken.mo", "not one", "broken.mo: cannot be read: "),
        ("broken.po", "no catalogue", "broken.po: cannot be read: "),
        ("notes.txt", "Hallo", "notes.txt: no .po, .mo, .tmx, .tsv file found"),
    ],
)
def test_files_that_cannot_be_read_are_errors_that_name_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert main([str(path), "--languages", "de", "en", "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out" / "train.de").exists()


def test_a_file_given_twice_is_read_once(folder: Path) -> None:
    assert len(find_files([folder, folder / "office.tmx"])) == 3
