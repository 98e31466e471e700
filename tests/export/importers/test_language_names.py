"""The languages of a model, from its name, its tokenizer's settings and its model card."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from export.importers.hugging_face_marian import read
from export.importers.imported import SourceError
from export.importers.languages import directions_of, languages_of_name
from tests.export.importers.marian_folders import write_folder

BIBLE = ["deu", "eng", "fra", "por", "spa"]


@pytest.mark.parametrize(
    ("name", "sources", "targets"),
    [
        ("opus-mt-de-en", ["de"], ["en"]),
        ("opus-mt-zh-en", ["zh"], ["en"]),
        ("opus-mt-tc-big-en-pt", ["en"], ["pt"]),
        ("opus-mt-tc-base-uk-hu", ["uk"], ["hu"]),
        ("opus-mt-tc-big-cat_oci_spa-en", ["cat", "oci", "spa"], ["en"]),
        ("opus-mt-tc-big-en-cat_oci_spa", ["en"], ["cat", "oci", "spa"]),
        ("opus-mt-tc-bible-big-deu_eng_fra_por_spa-itc", BIBLE, ["itc"]),
        ("opus-mt-tc-bible-big-afa-deu_eng_fra_por_spa", ["afa"], BIBLE),
        ("opus-mt-gmq-gmq", ["gmq"], ["gmq"]),
        ("opus-mt-tc-big-zle-en", ["zle"], ["en"]),
        ("opus-mt-ROMANCE-en", ["ROMANCE"], ["en"]),
        ("opus-mt-NORTH_EU-NORTH_EU", ["NORTH_EU"], ["NORTH_EU"]),
        ("opus-mt-de-ZH", ["de"], ["ZH"]),
        (
            "opus-mt-fi_nb_no_nn_ru_sv_en-SAMI",
            ["fi", "nb", "no", "nn", "ru", "sv", "en"],
            ["SAMI"],
        ),
        ("opus-mt_tiny_eng-zho", ["eng"], ["zho"]),
        ("opus-mt-en-mul", ["en"], ["mul"]),
        ("opus-mt-en-de-fr", [], []),
        ("translate-de_en-1_9", [], []),
    ],
)
def test_names_of_opus_mt_are_read(name: str, sources: list[str], targets: list[str]) -> None:
    assert languages_of_name(name) == (sources, targets)


def directions(folder: Path, *given: list[str]) -> list[tuple[str, str]]:
    found = directions_of(read(folder), *(given or ([], [])))
    return [(one.source, one.target) for one in found]


def test_a_model_from_three_languages_has_three_directions(tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-tc-big-cat_oci_spa-en"
    write_folder(folder, languages=None)
    three = [("ca", "en"), ("oc", "en"), ("es", "en")]
    assert directions(folder) == three
    for codes in (
        {"source_lang": "cat+oci+spa", "target_lang": "eng"},
        {"source_lang": "opus-mt-tc-big-cat_oci_spa", "target_lang": "en"},
    ):
        other = tmp_path / codes["source_lang"]
        write_folder(other, languages=None)
        (other / "tokenizer_config.json").write_text(json.dumps(codes))
        assert directions(other) == three


def test_a_group_s_languages_come_from_the_model_card_or_are_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-tc-big-gmq-en"
    write_folder(folder, languages=("gmq", "eng"))
    with pytest.raises(SourceError, match=r"name its source languages \(gmq\): --source de"):
        directions(folder)
    card = "# Model\n\n  - Source Language(s): dan fao isl nno nob qqq swe\n"
    (folder / "README.md").write_text(card)
    assert [source for source, _ in directions(folder)] == ["da", "fo", "is", "nn", "nb", "sv"]
    assert directions(folder, ["da"], []) == [("da", "en")]


def test_several_targets_without_tags_are_not_guessed(tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-tc-big-en-cat_oci_spa"
    write_folder(folder, languages=None)
    with pytest.raises(SourceError, match=r"several target languages \(ca, oc, es\), but has no"):
        directions(folder)
    assert directions(folder, [], ["oc"]) == [("en", "oc")]
    imported = read(folder)
    pieces = iter(imported.source.ids)
    tags = {code: next(pieces) for code in ("cat", "oci", "spa")}
    found = directions_of(replace(imported, tags=tags), [], [])
    assert [one.target for one in found] == ["ca", "oc", "es"]
