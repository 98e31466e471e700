"""Builds runs while markup is parsed."""

from service.text.run import PROTECTED, Format, Protected, Run, Tag, TagKind


class RunBuilder:
    """Builds a run from parts that are added in order."""

    def __init__(self) -> None:
        """Start without parts."""
        self._texts: list[str] = []
        self._length = 0
        self._tags: list[Tag] = []
        self._protected: list[Protected] = []

    def __bool__(self) -> bool:
        """Check whether anything was added."""
        return bool(self._texts or self._tags)

    def add(self, text: str) -> None:
        """Add text to translate."""
        self._texts.append(text)
        self._length += len(text)

    def tag(self, raw: str, kind: TagKind, full: str = "") -> None:
        """Add a tag."""
        self._tags.append(Tag(self._length, raw, kind, full))

    def protect(self, raw: str) -> None:
        """Add markup that is part of the sentence and preserved unchanged."""
        start = self._length
        self.add(PROTECTED)
        self._protected.append(Protected(start, self._length, raw))

    def run(self, form: Format = "text") -> Run:
        """Return the run."""
        return Run("".join(self._texts), self._tags, self._protected, form)
