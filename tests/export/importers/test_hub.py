"""Models by their names on Hugging Face, without a network."""

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from export.importers.__main__ import main
from export.importers.hub import fetched
from export.importers.imported import SourceError

NAME = "Helsinki-NLP/opus-mt-de-en"


def test_a_model_is_downloaded_by_name_into_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text("{}")
    calls: list[Any] = []

    def download(name: str, **options: Any) -> str:
        calls.append((name, "*.h5" in options["ignore_patterns"]))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with fetched(NAME) as folder:
        assert folder.name == folder.resolve().name == "opus-mt-de-en"
        assert (folder / "config.json").read_text() == "{}"
    assert calls == [(NAME, True)]
    assert not folder.exists()
    assert (tmp_path / "config.json").exists()


def test_local_paths_and_missing_folders_are_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).mkdir(parents=True)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    for source in (NAME, str(tmp_path / NAME), "missing"):
        with fetched(source) as place:
            assert place == Path(source)


def test_a_link_that_leads_nowhere_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", None)
    Path("models").mkdir()
    for name, target in (("models/loop", "loop"), ("models/dangling", "missing")):
        Path(name).symlink_to(target)
        assert main([name, "--out", "bundle"]) == 1
        assert f"error: {name}: is a link that leads nowhere; " in capsys.readouterr().err


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
def test_a_cached_model_is_found_and_named_after_its_repository(
    cached: Path, part: str, version: str
) -> None:
    with fetched(str(cached / part)) as folder:
        assert folder.name == folder.resolve().name == "opus-mt-de-en"
        assert (folder / "config.json").read_text() == version
    assert (cached / "blobs" / version).exists()


def test_a_cached_model_with_several_versions_and_no_main_is_refused(cached: Path) -> None:
    (cached / "refs" / "main").unlink()
    with (
        pytest.raises(SourceError, match="has 2 versions, and there is no refs/main"),
        fetched(str(cached)),
    ):
        pass


def test_a_missing_version_is_an_error_that_names_it(cached: Path) -> None:
    (cached / "refs" / "main").write_text("gone")
    with pytest.raises(SourceError, match='names "gone", which is not in'), fetched(str(cached)):
        pass


def test_a_failed_download_is_reported_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def download(_: str, **__: Any) -> str:
        raise OSError("404: Repository Not Found\nmore")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert main([NAME, "--out", str(tmp_path / "bundle")]) == 1
    line = capsys.readouterr().err
    assert line == (
        f"error: {NAME}: is not a local file or folder, and cannot be downloaded from Hugging Face: "
        "404: Repository Not Found\n"
    )


def test_a_missing_library_is_an_error_that_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    needed = r"huggingface_hub is needed: pip install -e '.\[hub\]'"
    with pytest.raises(SourceError, match=needed), fetched(NAME):
        pass
