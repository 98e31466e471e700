"""Corpora as ids on disk, mapped into memory, so that they may be larger than memory.

Each language of each corpus is tokenized once, into the run's folder `tokens/`, where a resumed run finds it.
Training pairs are read from two of these files when they are needed.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from model.config import CorpusConfig, DataConfig, SubwordSides
from model.data.text import DataError, TextFile, check_aligned, find_corpora, iterate_lines
from model.tokenizer import EOS_ID, Tokenizer, Vocabularies

LINES_AT_ONCE = 10_000
Line = tuple[str, int]


class Pair(NamedTuple):
    """One training example as ids."""

    source: NDArray[np.int32]
    """[S]: tag, pieces, EOS."""
    target: NDArray[np.int32]
    """[T]: pieces, EOS; the decoder's input is BOS and all ids but the last."""


@dataclass(frozen=True)
class TokenFile:
    """The ids of every line of one text file."""

    text: TextFile
    tokenizer: Tokenizer
    ids: NDArray[np.int32]
    """The ids of all lines, concatenated."""
    starts: NDArray[np.int64]
    """The index of each line's first id, followed by the number of ids."""

    @classmethod
    def encode(cls, path: Path, tokenizer: Tokenizer, folder: Path) -> "TokenFile":
        """Tokenize a text file into `folder`, unless an earlier run did so.

        Raises:
            DataError: the text is unusable.
        """
        status, vocabulary = path.stat(), hashlib.sha256(tokenizer.model).hexdigest()
        made_of = f"{path.resolve()}\n{vocabulary}\n{status.st_size}\n{status.st_mtime_ns}"
        store = folder / hashlib.sha256(made_of.encode()).hexdigest()[:16]
        if not (store / "done.json").exists():
            _tokenize(path, tokenizer, store)
        path_of_ids = store / "ids.i32"
        empty = path_of_ids.stat().st_size == 0  # an empty file cannot be mapped
        ids = np.zeros(0, np.int32) if empty else np.memmap(path_of_ids, np.int32, "r")
        starts = np.load(store / "starts.npy", mmap_mode="r")
        return cls(
            TextFile(path, np.load(store / "bytes.npy", mmap_mode="r")), tokenizer, ids, starts
        )

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of pieces of each line."""
        return np.diff(self.starts)

    def __getitem__(self, line: int) -> NDArray[np.int32]:
        """Return the ids of a line."""
        return self.ids[self.starts[line] : self.starts[line + 1]]

    def sampled(self, lines: Sequence[int], alpha: float, seed: int) -> list[list[int]]:
        """Return ids of some lines by random segmentation (see `Tokenizer.sample`)."""
        return self.tokenizer.sample([self.text[line] for line in lines], alpha, seed)


def _tokenize(path: Path, tokenizer: Tokenizer, store: Path) -> None:
    """Tokenize a file in one pass; the output is valid once `done.json` exists."""
    store.mkdir(parents=True, exist_ok=True)
    starts, byte_offsets = array("q", [0]), array("q")  # eight bytes per line, unlike a list
    with (
        (store / "ids.i32").open("wb") as file,
        tqdm(desc=f"tokenizing {path.name}", unit="line", unit_scale=True, leave=False) as progress,
    ):
        for lines in _chunks(iterate_lines(path), LINES_AT_ONCE):
            for ids in tokenizer.encode([text for text, _ in lines]):
                starts.append(starts[-1] + len(ids))
                file.write(np.array(ids, np.int32).tobytes())
            byte_offsets.extend(start for _, start in lines)
            progress.update(len(lines))
    byte_offsets.append(path.stat().st_size)
    np.save(store / "starts.npy", np.array(starts))
    np.save(store / "bytes.npy", np.array(byte_offsets))
    description = {"text": str(path), "lines": len(starts) - 1, "ids": starts[-1]}
    (store / "done.json").write_text(json.dumps(description) + "\n", encoding="utf-8")


def _chunks(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    remaining = iter(lines)
    while chunk := list(islice(remaining, size)):
        yield chunk


@dataclass(frozen=True)
class Group:
    """One direction of one corpus, which is sampled with its own share."""

    corpus: str
    """The name in `train.<name>.<code>`; empty for `train.<code>`."""
    direction: str
    source: TokenFile
    target: TokenFile
    tag: int
    """The token before each source that requests the target language."""
    lines: NDArray[np.int64]
    """The numbers of the lines that are short enough."""
    share: float
    """How many times an epoch uses each pair on average; 0.5 uses half of the pairs."""

    @property
    def name(self) -> str:
        """A readable name: `web de-en`, or `de-en` for `train.<code>`."""
        return f"{self.corpus} {self.direction}".strip()


class Corpus:
    """All pairs of all directions of all corpora, numbered from 0."""

    def __init__(self, groups: list[Group], num_too_long: int) -> None:
        """`num_too_long` is the number of pairs that were left out of `groups`."""
        self.groups, self.num_too_long = groups, num_too_long
        self.ends = np.cumsum([len(group.lines) for group in groups])
        sides = [(group.source, group.target) for group in groups]
        self.source_lengths, self.target_lengths = (
            np.concatenate(
                [
                    files[side].lengths[group.lines]
                    for files, group in zip(sides, groups, strict=True)
                ]
            ).astype(np.int32)
            + extra
            for side, extra in ((0, 2), (1, 1))
        )

    @classmethod
    def open(
        cls, folder: Path, config: DataConfig, vocabularies: Vocabularies, tokens: Path
    ) -> "Corpus":
        """Open the training text of `folder`, after tokenizing it into `tokens` if necessary.

        Pairs with more than `config.max_tokens` tokens on a side are left out and counted.

        Raises:
            DataError: the text is unusable, or `config.corpora` names a corpus or direction without files.
        """
        corpora = find_corpora(folder, config.languages)
        if missing := sorted(config.corpora.keys() - corpora.keys()):
            raise DataError(f"{folder}: has no train.{missing[0]}.<code>, which data.corpora names")
        groups, num_too_long = [], 0
        for name, files in corpora.items():
            settings = config.corpora.get(name, CorpusConfig())
            if settings.weight == 0:
                continue
            for direction in _directions(folder, name, files, settings, config):
                group, left_out = _group(name, files, direction, config, vocabularies, tokens)
                groups.append((group, settings.weight))
                num_too_long += left_out
        if not any(len(group.lines) for group, _ in groups):
            raise DataError(
                f"{folder}: no pair of {', '.join(config.directions)} is within data.max_tokens = "
                f"{config.max_tokens} tokens"
            )
        return cls(_with_shares(groups, config.temperature), num_too_long)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return int(self.ends[-1])

    def __getitem__(self, number: int) -> Pair:
        """Return a pair by its number, with the vocabularies' default segmentation."""
        group, line = self._place(number)
        return pair_of(group.tag, group.source[line], group.target[line])

    def sampled(
        self, numbers: NDArray[np.int64], alpha: float, seed: int, sides: SubwordSides = "both"
    ) -> list[Pair]:
        """Return some pairs with random segmentation of both sides or of the source only."""
        groups_and_lines = [self._place(number) for number in numbers]
        pairs: dict[int, Pair] = {}
        for group in {id(group): group for group, _ in groups_and_lines}.values():
            indices = [
                index
                for index, (group_of_line, _) in enumerate(groups_and_lines)
                if group_of_line is group
            ]
            lines = [groups_and_lines[index][1] for index in indices]
            sources = group.source.sampled(lines, alpha, seed)
            targets: Iterable[object] = [group.target[line] for line in lines]
            if sides == "both":
                targets = group.target.sampled(lines, alpha, seed)
            for index, source, target in zip(indices, sources, targets, strict=True):
                pairs[index] = pair_of(group.tag, source, target)
        return [pairs[index] for index in range(len(groups_and_lines))]

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the pairs of one epoch, in no particular order: each group as often as its share."""
        drawn, start = [], 0
        for group, end in zip(self.groups, self.ends, strict=True):
            repetitions, fraction = divmod(group.share, 1.0)
            all_pairs = np.arange(start, end)
            drawn += [all_pairs] * int(repetitions)
            drawn.append(rng.permutation(all_pairs)[: round(fraction * len(all_pairs))])
            start = end
        return np.concatenate(drawn)

    def _place(self, number: int) -> tuple[Group, int]:
        index = int(np.searchsorted(self.ends, number, side="right"))
        group = self.groups[index]
        return group, int(group.lines[number - (self.ends[index] - len(group.lines))])


def pair_of(tag: int, source: object, target: object) -> Pair:
    """Build a pair from the pieces of two lines, with the tag before the source and EOS after both."""
    parts = np.concatenate(([tag], np.asarray(source, np.int32), [EOS_ID])).astype(np.int32)
    return Pair(parts, np.concatenate((np.asarray(target, np.int32), [EOS_ID])).astype(np.int32))


def _directions(
    folder: Path, name: str, files: Mapping[str, Path], settings: CorpusConfig, config: DataConfig
) -> list[str]:
    """Return the directions configured for a corpus, or else all that it has files for.

    Raises:
        DataError: files of a configured direction are missing, or the corpus has files for no direction.
    """
    available = [
        direction for direction in config.directions if set(direction.split("-")) <= files.keys()
    ]
    if missing := [direction for direction in settings.directions if direction not in available]:
        source, target = missing[0].split("-")
        raise DataError(
            f"{folder}: data.corpora.{name}.directions names {missing[0]}, which needs "
            f"train.{name}.{source} and train.{name}.{target}"
        )
    if not available:
        paths = ", ".join(str(path) for path in files.values())
        raise DataError(f"{paths}: none of data.directions is between these languages")
    return list(settings.directions) or available


def encode_pairs(
    text: Mapping[str, list[str]], config: DataConfig, vocabularies: Vocabularies
) -> list[Pair]:
    """Return the pairs of every direction from aligned lines by language, except those that are too long."""
    pairs = []
    for direction in config.directions:
        source, target = direction.split("-")
        tag = vocabularies.source.tag_id(target)
        sides = vocabularies.source.encode(text[source]), vocabularies.target.encode(text[target])
        pairs += [pair_of(tag, *ids) for ids in zip(*sides, strict=True)]
    return [pair for pair in pairs if max(map(len, pair)) <= config.max_tokens]


def _group(
    name: str,
    files: Mapping[str, Path],
    direction: str,
    config: DataConfig,
    vocabularies: Vocabularies,
    tokens: Path,
) -> tuple[Group, int]:
    """Open one direction of one corpus with a share of 1; also return how many pairs are too long."""
    source_code, target_code = direction.split("-")
    source = TokenFile.encode(files[source_code], vocabularies.source, tokens)
    target = TokenFile.encode(files[target_code], vocabularies.target, tokens)
    check_aligned({files[source_code]: len(source), files[target_code]: len(target)})
    longest = np.maximum(source.lengths + 2, target.lengths + 1)
    lines = np.flatnonzero(longest <= config.max_tokens)
    tag = vocabularies.source.tag_id(target_code)
    group = Group(name, direction, source, target, tag, lines, share=1.0)
    return group, len(source) - len(lines)


def _with_shares(groups: list[tuple[Group, float]], temperature: float) -> list[Group]:
    """Return the groups with shares from their corpus's weight and the temperature T.

    From a group of n pairs, n^(1/T) N^(1 - 1/T) times the weight are drawn, where N is the size of the
    largest group. A higher temperature raises the share of small groups (Arivazhagan et al., 2019, section
    4.1).
    """
    largest = max(len(group.lines) for group, _ in groups)
    return [
        replace(
            group,
            share=weight * (max(1, len(group.lines)) / largest) ** (1 / temperature - 1),
        )
        for group, weight in groups
    ]
