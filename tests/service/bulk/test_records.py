"""The text of a line is found; everything around it is preserved byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.bulk.records import Column, Field, Layout, Lines


def changed(layout: Layout, line: str) -> str:
    return layout.read(line).translated("new")


@pytest.mark.parametrize(
    ("layout", "line", "expected"),
    [
        (Lines(), "old\n", "new\n"),
        (Lines(), "old\r\n", "new\r\n"),
        (Lines(), "old", "new"),
        (Lines(), "\r\n", "\r\n"),
        (Column(2), "a\told\tc\r\n", "a\tnew\tc\r\n"),
        (Column(1), "old\tc", "new\tc"),
        (Column(2), "a\told", "a\tnew"),
        (Column(2), "a\t\tc\n", "a\t\tc\n"),
        (Column(1), "\n", "\n"),
        (Column(1, keep=True), "old\tc\n", "old\tc\tnew\n"),
        (Column(1, keep=True), "\tc\n", "\tc\t\n"),
        (Field("t"), '{"n": 1.10, "t" : "old" }\n', '{"n": 1.10, "t" : "new" }\n'),
        (Field("t"), '{"t": "", "u": 1}\n', '{"t": "", "u": 1}\n'),
        (Field("t"), '{"x": {"t": "inner"}, "t": "old"}', '{"x": {"t": "inner"}, "t": "new"}'),
        (Field("t"), '{"t": "old", "t": "old"}', '{"t": "old", "t": "new"}'),
        (Field("t", keep=True), '{"t":"old"}\n', '{"t":"old", "translation": "new"}\n'),
        (Field("t", keep=True), '{"t": ""}\n', '{"t": "", "translation": ""}\n'),
        (Field("t"), "\n", "\n"),
    ],
)
def test_only_the_text_changes(layout: Layout, line: str, expected: str) -> None:
    record = layout.read(line)
    assert record.text in ("old", "")
    assert record.problem == ""
    assert record.translated("new") == expected


def test_a_translation_never_becomes_two_lines_or_cells() -> None:
    assert Lines().read("old\n").translated("one\ntwo") == "one two\n"
    assert Column(1).read("old\tb\n").translated("one\ttwo\n") == "one two \tb\n"
    line = Field("t").read('{"t": "old"}\n').translated('a "b"\n\\ ü')
    assert line.count("\n") == 1
    assert json.loads(line) == {"t": 'a "b"\n\\ ü'}


@pytest.mark.parametrize(
    ("layout", "line", "problem"),
    [
        (Column(3), "a\tb\n", "it has no column 3, only 2"),
        (Field("t"), '{"t": "old"\n', "it is not JSON: "),
        (Field("t"), f'{{"n": {"9" * 5000}, "t": "old"}}\n', "it has a number of more than 4,300 "),
        (Field("t"), "[" * 100_000, "it is nested too deeply"),
        (Field("t"), '["old"]\n', "it is not a JSON object"),
        (Field("t"), '{"u": "old"}\n', "its field t is missing"),
        (Field("t"), '{"t": null}\n', "its field t is null, not a string"),
        (Field("t"), '{"t": 1}\n', "its field t is a number, not a string"),
        (Field("t"), '{"t": "\\ud800"}\n', "its field t has an unpaired surrogate at character 0"),
        (
            Field("t", keep=True),
            '{"t": "", "translation": 1}',
            "it has a field translation already",
        ),
    ],
)
def test_records_without_text_are_kept_with_a_reason(
    layout: Layout, line: str, problem: str
) -> None:
    record = layout.read(line)
    assert record.problem.startswith(problem)
    assert record.translated("new") == line


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(), JSON, max_size=4),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.integers(0, 4),
    st.booleans(),
)
def test_any_object_keeps_its_other_fields(
    others: dict[str, Any], text: str, place: int, is_ascii: bool
) -> None:
    items = [(key, value) for key, value in others.items() if key != "t"]
    items.insert(place, ("t", text))
    line = json.dumps(dict(items), ensure_ascii=is_ascii, indent=None) + "\n"
    record = Field("t").read(line)
    assert record.text == text
    assert json.loads(record.translated("new")) == {**dict(items), "t": "new"}
