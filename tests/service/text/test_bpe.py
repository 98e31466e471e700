"""Words are split by merges as by subword-nmt itself."""

import io
import random
from pathlib import Path

import pytest
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

from service.errors import BundleError
from service.text.bpe import Bpe
from tests import toy
from tests.growth import beyond_linear

WORDS = [word for pair in toy.sentences() for side in pair for word in side.split()]
OVERLAPPING = "#version: 0.2\na b\nb a\nab ab\na a\nab c\nabc ab\nc</w> x\nab c</w>\nb a</w>\na b\n"


def learnt_merges() -> str:
    """Return merges of the toy language."""
    codes = io.StringIO()
    learn_bpe(io.StringIO(" ".join(WORDS)), codes, 60)
    return codes.getvalue()


@pytest.fixture(scope="module")
def versions() -> dict[str, str]:
    """The same merges in three file formats, and overlapping merges."""
    codes = learnt_merges()
    _, *lines = codes.splitlines()
    old = ["e </w>", "t </w>", "he n", "n </w>", *lines]
    return {
        "subword-nmt": codes,
        "its first version": "\n".join(old),
        "fastBPE": "\n".join(f"{line} {900 - at}" for at, line in enumerate(lines)),
        "overlapping": OVERLAPPING,
    }


@pytest.mark.parametrize("name", ["subword-nmt", "its first version", "fastBPE", "overlapping"])
def test_words_are_split_like_by_subword_nmt(
    versions: dict[str, str], name: str, tmp_path: Path
) -> None:
    (tmp_path / "codes").write_text(versions[name], encoding="utf-8")
    bpe = Bpe(tmp_path / "codes")
    peer = BPE(io.StringIO(versions["subword-nmt" if name == "fastBPE" else name]))
    rng = random.Random(0)
    made = ["".join(rng.choices("abcenths", k=rng.randint(1, 40))) for _ in range(300)]
    repeated = ["".join(rng.choices("abc", k=rng.randint(1, 40))) for _ in range(300)]
    for word in [*WORDS, *made, *repeated, "日本", "é", "</w>"]:
        pieces = [piece.removesuffix("@@") for piece in peer.segment_tokens([word])]
        assert list(bpe.cut(word)) == pieces, word


def test_splitting_a_long_word_takes_nearly_linear_time(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(learnt_merges(), encoding="utf-8")
    bpe, rng = Bpe(tmp_path / "codes"), random.Random(0)
    letters = "".join(rng.choices("".join(WORDS), k=20_000))
    assert not beyond_linear(bpe.cut, lambda times: letters[: times * 5_000])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#version: 0.2\na b\na\n", 'codes: line 3: "a" is no pair of symbols'),
        ("a b c d\n", 'line 1: "a b c d" is no pair of symbols'),
        ("", 'line 1: "" is no pair of symbols'),
        ("#version: 0.1\n", "codes: has no pair of symbols"),
        ("#version: 3\na b\n", 'codes: has version "3"; supported: 0.1, 0.2'),
    ],
)
def test_an_invalid_list_of_merges_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "codes").write_text(text)
    with pytest.raises(BundleError) as caught:
        Bpe(tmp_path / "codes")
    assert message in str(caught.value)
