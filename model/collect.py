"""`python -m model.collect FILES --languages de en --out OUT`: training pairs from existing translations.

FILES are gettext catalogues (`.po`, `.mo`), translation memories (`.tmx`, and the tables `.tsv` of bundles),
and folders that contain them. Catalogues are read if they have both languages, one of which is that of their
messages (`--messages`). Lines of tables that apply to one direction are left out, unless it is that `--into`
a language. Texts are split into lines and sentences if both sides have the same number of them, and written
to `train.<name>.<code>`.

Text is left out and counted if it is untranslated, marked as fuzzy, the same on both sides, or has
placeholders, markup or keyboard shortcuts (`%s`, `{name}`, `<b>`, `_Open`), which the service hides from the
network. `python -m model.clean` does the rest; among other things, it drops duplicates.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import polib
from tqdm import tqdm

from model.data.pairs import TextPair, write_pairs
from model.data.text import DataError

CATALOGUES, MEMORY, TABLE = (".po", ".mo"), ".tmx", ".tsv"
NOT_TEXT = re.compile(r"[%$][\w(%{]|[{}<>|^\\=]|(?<!\w)[_&~]\w")
"""Parts of placeholders, markup, keyboard shortcuts and message contexts."""
END_OF_SENTENCE = re.compile(
    r"""
    (?<=\w[.!?…]) (["“”»«')]*)
    \s+
    (?=["„“»«'(]?[^\W\d_a-zà-ÿ])  # before a capital or a letter without case
    """,
    re.VERBOSE,
)
SENTENCE = re.compile(r""".*\s.*[.!?…]["“”»«')]*""")
MAX_UNEVEN = 2.6
"""Maximum length ratio, in characters, at which two sentences are accepted as translations of each other."""
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def main(arguments: list[str] | None = None) -> int:
    """Write the corpus and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m model.collect",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILES")
    parser.add_argument("--languages", nargs=2, required=True, metavar="CODE")
    parser.add_argument(
        "--messages",
        default="en",
        metavar="CODE",
        help="language of the messages in catalogues (default en)",
    )
    parser.add_argument(
        "--into", metavar="CODE", help="also keep lines that apply only to translations into it"
    )
    parser.add_argument("--sentences", action="store_true", help="keep only whole sentences")
    parser.add_argument("--name", default="", help="name of the corpus (default none)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pairs")
    options = parser.parse_args(arguments)
    languages = options.languages[0], options.languages[1]
    counts: Counter[str] = Counter()
    try:
        paths = tqdm(find_files(options.files), desc="collect", unit="file")
        if options.into not in (None, *languages):
            raise DataError(f"--into {options.into}: is not among {' '.join(languages)}")
        texts = (
            text
            for path in paths
            for text in read(path, languages, options.messages, counts, options.into)
        )
        pairs = (pair for text in texts for pair in cut(text))
        kept = (pair for pair in pairs if not _is_left_out(pair, options.sentences, counts))
        prefix = f"train.{options.name}" if options.name else "train"
        options.out.mkdir(parents=True, exist_ok=True)
        written = write_pairs(kept, [options.out / f"{prefix}.{code}" for code in languages])
    except (DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    left_out = ", ".join(f"{number:,} {reason}" for reason, number in (+counts).most_common())
    print(f"{written:,} pairs of {paths.total:,} files; left out: {left_out or 'nothing'}")
    return 0


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the given files, and the catalogues and translation memories in the given folders, each once.

    Raises:
        DataError: a path does not exist, is a file of another kind, or is a folder without such files.
    """
    kinds = (*CATALOGUES, MEMORY, TABLE)
    files: dict[Path, None] = {}
    for path in paths:
        candidates = path.rglob("*") if path.is_dir() else [path]
        of_kind = sorted(file for file in candidates if file.suffix in kinds)
        if not of_kind:
            if not path.exists():
                raise DataError(f"{path}: there is no such file or folder")
            raise DataError(f"{path}: no {', '.join(kinds)} file found")
        files |= dict.fromkeys(of_kind)
    return list(files)


def read(
    path: Path,
    languages: TextPair,
    messages: str,
    counts: Counter[str],
    into: str | None = None,
) -> Iterator[TextPair]:
    """Yield the texts of a file in the order of `languages`, and count in `counts` what is left out.

    `into` is the language for whose direction all lines of a table are kept.

    Raises:
        DataError: the file cannot be read or parsed.
    """
    try:
        if path.suffix == MEMORY:
            yield from _read_memory(path, languages, counts)
        elif path.suffix == TABLE:
            yield from _read_table(path, languages, into, counts)
        else:
            yield from _read_catalogue(path, languages, messages, counts)
    except (OSError, UnicodeDecodeError, ElementTree.ParseError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def cut(text: TextPair) -> list[TextPair]:
    """Split a text into lines, and lines into sentences, if both sides have as many, of similar lengths."""
    lines = _side_by_side([side.split("\n") for side in text]) or [(_flat(text[0]), _flat(text[1]))]
    pairs = []
    for line in lines:
        sentences = [END_OF_SENTENCE.sub(r"\1\n", side).split("\n") for side in line]
        pairs += _side_by_side(sentences) or [line]
    return pairs


def _side_by_side(sides: Sequence[Sequence[str]]) -> list[TextPair]:
    """Pair the non-empty parts of both sides; return [] if their counts or lengths do not match."""
    first, second = ([part for part in map(_flat, side) if part] for side in sides)
    if len(first) != len(second):
        return []
    pairs = list(zip(first, second, strict=True))
    if len(pairs) > 1 and any(max(a, b) > MAX_UNEVEN * min(a, b) for a, b in map(_lengths, pairs)):
        return []
    return pairs


def _read_catalogue(
    path: Path, languages: TextPair, messages: str, counts: Counter[str]
) -> Iterator[TextPair]:
    catalogue = polib.mofile(str(path)) if path.suffix == ".mo" else polib.pofile(str(path))
    locale = catalogue.metadata.get("Language") or path.stem
    language = re.split(r"[_@-]", locale)[0]
    if {messages, language} != set(languages):
        counts["files in other languages"] += 1
        return
    translated = catalogue.translated_entries()
    counts["not translated, or fuzzy"] += len(catalogue) - len(translated)
    for entry in translated:
        if not entry.msgstr:
            counts["with plural forms"] += 1
        elif messages == languages[0]:
            yield entry.msgid, entry.msgstr
        else:
            yield entry.msgstr, entry.msgid


def _read_memory(path: Path, languages: TextPair, counts: Counter[str]) -> Iterator[TextPair]:
    for _, unit in ElementTree.iterparse(path):
        if unit.tag != "tu":
            continue
        segments = {}
        for variant in unit.iter("tuv"):
            code = variant.get(LANGUAGE) or variant.get("lang") or ""
            segment = variant.find("seg")
            if segment is not None:
                segments[code.lower().split("-")[0]] = "".join(segment.itertext())
        if all(segments.get(code) for code in languages):
            yield segments[languages[0]], segments[languages[1]]
        else:
            counts["without one of the languages"] += 1
        unit.clear()


def _read_table(
    path: Path, languages: TextPair, into: str | None, counts: Counter[str]
) -> Iterator[TextPair]:
    codes, *lines = (line.split("\t") for line in path.read_text("utf-8").split("\n"))
    if not set(languages) <= set(codes):
        counts["files in other languages"] += 1
        return
    for cells in lines:
        if len(cells) > len(codes) and cells[-1] != into:
            counts["for one direction"] += 1
        elif len(cells) >= len(codes):
            yield cells[codes.index(languages[0])], cells[codes.index(languages[1])]


def _is_left_out(pair: TextPair, only_sentences: bool, counts: Counter[str]) -> bool:
    """Check whether a pair is unsuitable for training, and count the reason."""
    if not all(pair) or pair[0] == pair[1]:
        counts["empty or the same on both sides"] += 1
    elif any(map(NOT_TEXT.search, pair)):
        counts["with placeholders or markup"] += 1
    elif only_sentences and not all(map(SENTENCE.fullmatch, pair)):
        counts["no sentence"] += 1
    else:
        return False
    return True


def _flat(text: str) -> str:
    return " ".join(text.split())


def _lengths(pair: TextPair) -> tuple[int, int]:
    """Return both lengths in characters, plus 10, since ratios of short texts vary more."""
    return len(pair[0]) + 10, len(pair[1]) + 10


if __name__ == "__main__":
    sys.exit(main())
