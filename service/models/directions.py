"""The languages in a bundle's manifest: its directions, and the tokens that select them."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    model_validator,
)

Code = Annotated[str, Field(max_length=35, pattern="^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$")]
"""A language code."""
Id = Annotated[int, Field(strict=True, ge=0)]
MAX_LANGUAGES = 256
"""Limit for a manifest that lists languages instead of pairs."""
STRICT = ConfigDict(extra="forbid", frozen=True)


class Direction(BaseModel):
    """One language pair that the model translates."""

    model_config = STRICT

    source: Code
    target: Code
    tag: Id | None = None
    """The token before the source that selects the target language or names the source language."""
    start_token: Id | None = None
    """The token that begins every translation and selects the target language; not part of its text."""

    @property
    def prefix(self) -> tuple[int, ...]:
        """The ids before the source's pieces."""
        return () if self.tag is None else (self.tag,)

    @property
    def start_tokens(self) -> tuple[int, ...]:
        """The ids with which a translation begins, after BOS."""
        return () if self.start_token is None else (self.start_token,)

    @property
    def around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids before every source, and those between BOS and every translation."""
        return self.prefix, self.start_tokens

    @property
    def asking(self) -> tuple[int, ...]:
        """The ids that select the target; empty if the model has only one."""
        return self.prefix + self.start_tokens

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.source == self.target or "auto" in (self.source, self.target):
            raise ValueError(f"{self.source} to {self.target} is not a direction")
        return self


class Many(BaseModel):
    """The short form of the directions of a multilingual model: from each source into each other target."""

    model_config = STRICT
    from_tags: Annotated[dict[Code, Id], Field(min_length=1, max_length=MAX_LANGUAGES)]
    """By source language, the token before the source."""
    into_start_tokens: Annotated[dict[Code, Id], Field(min_length=1, max_length=MAX_LANGUAGES)]
    """By target language, the token that begins a translation. It is the language's source token, too."""

    @property
    def directions(self) -> list[Direction]:
        """All pairs, except those of a language with itself."""
        return [
            Direction(source=source, target=target, tag=tag, start_token=start)
            for source, tag in self.from_tags.items()
            for target, start in self.into_start_tokens.items()
            if tag != start
        ]

    @classmethod
    def of(cls, directions: Sequence[Direction]) -> Self | None:
        """Return the short form of exactly these directions, or None if they have none."""
        tags = {direction.source: direction.tag for direction in directions}
        starts = {direction.target: direction.start_token for direction in directions}
        listed = {
            (direction.source, direction.target, direction.tag, direction.start_token)
            for direction in directions
        }
        expanded = {
            (source, target, tag, start)
            for (source, tag), (target, start) in product(tags.items(), starts.items())
            if tag != start
        }
        sizes = len(tags), len(starts)
        is_short = sum(sizes) <= len(directions) and max(sizes) <= MAX_LANGUAGES
        if listed != expanded or not is_short or None in (*tags.values(), *starts.values()):
            return None
        return cls.model_validate({"from_tags": tags, "into_start_tokens": starts})


def _expanded(given: Any) -> Any:
    return Many.model_validate(given).directions if isinstance(given, dict) else given


def _shortened(directions: list[Direction]) -> Any:
    many = Many.of(directions)
    return many if many is not None else list(directions)


Directions = Annotated[
    list[Direction],
    Field(min_length=1, max_length=MAX_LANGUAGES**2),
    BeforeValidator(_expanded),
    PlainSerializer(_shortened),
]
"""A list of directions, in JSON possibly in the short form of `Many`."""


class SpecialTokens(BaseModel):
    """The ids of the special tokens."""

    model_config = STRICT

    pad: Id
    unk: Id
    bos: Id
    eos: Id
    ends_source: StrictBool = True
    """Whether EOS follows the source's pieces."""

    @property
    def ids(self) -> tuple[int, ...]:
        """All ids."""
        return self.pad, self.unk, self.bos, self.eos

    @property
    def source_end(self) -> tuple[int, ...]:
        """The ids after the source's pieces."""
        return (self.eos,) if self.ends_source else ()


def check_ids(special: SpecialTokens, directions: Sequence[Direction], vocab_size: int) -> None:
    """Check the ids of a manifest.

    Raises:
        ValueError: ids collide or lie outside the vocabulary, or a direction is listed twice.
    """
    if len({special.pad, special.unk, special.eos}) < 3 or special.bos in (
        special.unk,
        special.eos,
    ):
        raise ValueError("special_tokens must differ, except that pad may equal bos")
    pairs = [(direction.source, direction.target) for direction in directions]
    if duplicate := _first_twice(pairs):
        raise ValueError(f"direction {'-'.join(duplicate)} is duplicated")
    by_target = {(direction.target, direction.asking) for direction in directions}
    ambiguous = _first_twice(asking for _, asking in by_target)
    if ambiguous is not None:
        raise ValueError(f"two targets have {f'tag {ambiguous[0]}' if ambiguous else 'no tag'}")
    asking = set().union(*(ids for _, ids in by_target))
    if special_tags := asking.intersection(special.ids):
        raise ValueError(f"tag {min(special_tags)} is one of the special tokens")
    largest_id = max(asking.union(special.ids))
    if largest_id >= vocab_size:
        raise ValueError(f"id {largest_id} is outside the vocabulary of {vocab_size}")


def _first_twice(items: Iterable[Any]) -> Any:
    """Return the first item that repeats an earlier one, or None if all differ."""
    earlier = set()
    for item in items:
        if item in earlier:
            return item
        earlier.add(item)
    return None
