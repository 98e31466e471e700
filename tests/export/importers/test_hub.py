"""Models by their names on Hugging Face; nothing is downloaded."""

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from export.__main__ import main
from export.importers.hub import fetched
from export.importers.imported import SourceError

NAME = "Helsinki-NLP/opus-mt-de-en"


def test_a_name_is_downloaded_and_keeps_its_last_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    asked: list[Any] = []

    def download(name: str, **options: Any) -> str:
        asked.append((name, "*.h5" in options["ignore_patterns"]))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with fetched(NAME) as folder:
        assert folder.name == folder.resolve().name == "opus-mt-de-en"
        assert (folder / "config.json").read_text() == "{}"
    assert asked == [(NAME, True)]
    assert not folder.exists()
    assert (tmp_path / "config.json").exists()


def test_what_is_there_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).mkdir(parents=True)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    for source in (NAME, str(tmp_path / NAME), "missing"):
        with fetched(source) as place:
            assert place == Path(source)


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    """A model in Hugging Face's cache: two versions, with links to files elsewhere."""
    folder = tmp_path / "models--Helsinki-NLP--opus-mt-de-en"
    for name in ("blobs", "refs", "snapshots/old", "snapshots/new"):
        (folder / name).mkdir(parents=True)
    for version in ("old", "new"):
        (folder / "blobs" / version).write_text(version)
        (folder / "snapshots" / version / "config.json").symlink_to(f"../../blobs/{version}")
    (folder / "refs" / "main").write_text("new")
    return folder


@pytest.mark.parametrize(
    ("part", "version"), [("", "new"), ("snapshots/new", "new"), ("snapshots/old", "old")]
)
def test_a_model_of_the_cache_is_found_and_has_its_name(
    cached: Path, part: str, version: str
) -> None:
    with fetched(str(cached / part)) as folder:
        assert folder.name == folder.resolve().name == "opus-mt-de-en"
        assert (folder / "config.json").read_text() == version
    assert (cached / "blobs" / version).exists()


def test_of_several_versions_one_must_be_named(cached: Path) -> None:
    (cached / "refs" / "main").unlink()
    with (
        pytest.raises(SourceError, match="has 2 versions, and there is no refs/main"),
        fetched(str(cached)),
    ):
        pass


def test_a_version_that_is_not_there_is_named(cached: Path) -> None:
    (cached / "refs" / "main").write_text("gone")
    with pytest.raises(SourceError, match='names "gone", which is not in'), fetched(str(cached)):
        pass


def test_a_download_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def download(_: str, **__: Any) -> str:
        raise OSError("404: Repository Not Found\nmore")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert main(["import", NAME, "--out", str(tmp_path / "bundle")]) == 1
    line = capsys.readouterr().err
    assert line == (
        f"error: {NAME}: is not a local file or folder, and cannot be downloaded from Hugging Face: "
        "404: Repository Not Found\n"
    )


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    needed = r"huggingface_hub is needed: pip install -e '.\[hub\]'"
    with pytest.raises(SourceError, match=needed), fetched(NAME):
        pass
