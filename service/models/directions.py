"""The languages in a bundle's manifest: its directions, and the tokens that select them."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

Code = Annotated[str, Field(max_length=35, pattern="^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$")]
"""Of a language."""
Id = Annotated[int, Field(strict=True, ge=0)]
MAX_LANGUAGES = 256
"""Of a manifest that names languages and not their pairs."""
STRICT = ConfigDict(extra="forbid", frozen=True)


class Direction(BaseModel):
    """One language pair that the model translates."""

    model_config = STRICT

    source: Code
    target: Code
    tag: Id | None = None
    """The token in front of the source, which asks for this target, or says what the source is in."""
    start_token: Id | None = None
    """The one that every translation begins with, which asks for this target; no part of its text."""

    @property
    def prefix(self) -> tuple[int, ...]:
        """What stands in front of the source's pieces."""
        return () if self.tag is None else (self.tag,)

    @property
    def start_tokens(self) -> tuple[int, ...]:
        """What a translation begins with, behind BOS."""
        return () if self.start_token is None else (self.start_token,)

    @property
    def asking(self) -> tuple[int, ...]:
        """By what the target is asked for; the only one needs nothing."""
        return self.prefix + self.start_tokens

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.source == self.target or "auto" in (self.source, self.target):
            raise ValueError(f"{self.source} to {self.target} is not a direction")
        return self


class Many(BaseModel):
    """How a manifest writes down a model between many languages: each of some into each other of some."""

    model_config = STRICT
    from_tags: Annotated[dict[Code, Id], Field(min_length=1, max_length=MAX_LANGUAGES)]
    """By source, the token in front of it."""
    into_start_tokens: Annotated[dict[Code, Id], Field(min_length=1, max_length=MAX_LANGUAGES)]
    """By target, the token that its translations begin with; no language is translated into itself."""

    @property
    def directions(self) -> list[Direction]:
        """All of them."""
        return [
            Direction(source=source, target=target, tag=tag, start_token=start)
            for source, tag in self.from_tags.items()
            for target, start in self.into_start_tokens.items()
            if tag != start
        ]

    @classmethod
    def of(cls, directions: Sequence[Direction]) -> Self | None:
        """What stands for just these directions; None if nothing does."""
        tags = {one.source: one.tag for one in directions}
        starts = {one.target: one.start_token for one in directions}
        said = {(one.source, one.target, one.tag, one.start_token) for one in directions}
        meant = {
            (source, target, tag, start)
            for (source, tag), (target, start) in product(tags.items(), starts.items())
            if tag != start
        }
        counts = len(tags), len(starts)
        is_short = sum(counts) <= len(directions) and max(counts) <= MAX_LANGUAGES
        if said != meant or not is_short or None in (*tags.values(), *starts.values()):
            return None
        return cls.model_validate({"from_tags": tags, "into_start_tokens": starts})


def _expanded(said: Any) -> Any:
    return Many.model_validate(said).directions if isinstance(said, dict) else said


def _shortened(directions: list[Direction]) -> Any:
    many = Many.of(directions)
    return many if many is not None else list(directions)


Directions = Annotated[
    list[Direction],
    Field(min_length=1, max_length=MAX_LANGUAGES**2),
    BeforeValidator(_expanded),
    PlainSerializer(_shortened),
]
"""A list, or what stands for one."""


class SpecialTokens(BaseModel):
    """Ids with a meaning."""

    model_config = STRICT

    pad: Id
    unk: Id
    bos: Id
    eos: Id
    ends_source: bool = True
    """Whether EOS stands behind the source's pieces."""

    @property
    def ids(self) -> tuple[int, ...]:
        """All of them."""
        return self.pad, self.unk, self.bos, self.eos

    @property
    def source_end(self) -> tuple[int, ...]:
        """What stands behind the source's pieces."""
        return (self.eos,) if self.ends_source else ()


def check_ids(special: SpecialTokens, directions: Sequence[Direction], vocab_size: int) -> None:
    """Whether the ids of a manifest go together.

    Raises:
        ValueError: they do not.
    """
    if len({special.pad, special.unk, special.eos}) < 3 or special.bos in (
        special.unk,
        special.eos,
    ):
        raise ValueError("special_tokens must differ, except that pad may equal bos")
    pairs = [(one.source, one.target) for one in directions]
    if twice := _first_twice(pairs):
        raise ValueError(f"direction {'-'.join(twice)} is duplicated")
    by_target = {(one.target, one.asking) for one in directions}
    asked = _first_twice(asking for _, asking in by_target)
    if asked is not None:
        raise ValueError(f"two targets have {f'tag {asked[0]}' if asked else 'no tag'}")
    asking = set().union(*(ids for _, ids in by_target))
    if wrong := asking.intersection(special.ids):
        raise ValueError(f"tag {min(wrong)} is one of the special tokens")
    last = max(asking.union(special.ids))
    if last >= vocab_size:
        raise ValueError(f"id {last} is outside the vocabulary of {vocab_size}")


def _first_twice(items: Iterable[Any]) -> Any:
    """The first item that is there again; None if all are different."""
    seen = set()
    for item in items:
        if item in seen:
            return item
        seen.add(item)
    return None
