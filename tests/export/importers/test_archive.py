"""Archives are unpacked, and harmful ones are refused before anything is written."""

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from export.importers.archive import unpacked
from export.importers.imported import SourceError


def pack(path: Path, files: dict[str, bytes], kind: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = (kind | 0o644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    return path


@pytest.mark.parametrize("folder", ["", "opus-mt/"])
def test_an_archive_is_unpacked_with_or_without_a_folder_around_its_files(
    tmp_path: Path, folder: str
) -> None:
    files = {f"{folder}a.txt": b"A", f"{folder}b/c.txt": b"C"}
    with unpacked(pack(tmp_path / "model.zip", files)) as found:
        assert (found / "a.txt").read_bytes() == b"A"
        assert (found / "b" / "c.txt").read_bytes() == b"C"
        assert found.name == (folder.strip("/") or "model")
    assert not found.exists()


def test_folders_and_files_that_are_not_archives_are_used_in_place(tmp_path: Path) -> None:
    pack(tmp_path / "model.npz", {"a.npy": b"A"})
    (tmp_path / "model.txt").write_text("text")
    for path in (tmp_path, tmp_path / "model.npz", tmp_path / "model.txt"):
        with unpacked(path) as found:
            assert found == path


def corrupted(path: Path) -> Path:
    data = pack(path, {"a.txt": bytes(range(256)) * 64, "b.txt": b"B"}).read_bytes()
    path.write_bytes(data[:64] + b"\xff" * 8 + data[72:])
    return path


def truncated(path: Path) -> Path:
    data = pack(path, {"a.txt": bytes(range(256)) * 64}).read_bytes()
    path.write_bytes(data[:-40])
    return path


def left_to_lfs(path: Path) -> Path:
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    return path


def duplicated(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", b"A")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.txt", b"B")
    return path


def with_invalid_name(path: Path) -> Path:
    data = pack(path, {"\u00e4.txt": b"A"}).read_bytes()
    path.write_bytes(data.replace("\u00e4".encode(), b"\xff\xff"))
    return path


def unnamed(path: Path) -> Path:
    member = zipfile.ZipInfo("a")
    member.filename = ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"A")
    return path


CASES: list[tuple[Callable[[Path], Path], str]] = [
    (lambda path: pack(path, {"ok": b"", "../out": b""}), "'../out' is outside of"),
    (lambda path: pack(path, {"a/../../out": b""}), "'a/../../out' is outside of"),
    (lambda path: pack(path, {"/out": b""}), "'/out' is outside of"),
    (lambda path: pack(path, {".": b""}), "'.' is outside of"),
    (unnamed, "'' is outside of"),
    (lambda path: pack(path, {"..\\out": b""}), "is outside of"),
    (lambda path: pack(path, {"a\\out": b""}), "is outside of"),
    (lambda path: pack(path, {"C:\\out": b""}), "is outside of"),
    (lambda path: pack(path, {"C:/out": b""}), "'C:/out' is outside of"),
    (lambda path: pack(path, {"a": b"/etc/passwd"}, stat.S_IFLNK), "'a' is a link or a device"),
    (lambda path: pack(path, {"a": bytes(80 << 20)}), "unpacks to 83886080 bytes; supported: up to"),
    (lambda path: pack(path, {str(n): b"" for n in range(1001)}), "has 1001 files; supported: up to"),
    (lambda path: pack(path, {"a": b"", "A/": b"", "a/b": b""}), "cannot be unpacked"),
    (truncated, "is not a whole zip archive, it may be truncated; download it again"),
    (left_to_lfs, "is a pointer of Git LFS"),
    (duplicated, "cannot be unpacked"),
    (corrupted, "cannot be unpacked"),
    (with_invalid_name, "cannot be unpacked: 'utf-8' codec"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message for _, message in CASES])
def test_a_harmful_archive_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], Path],
    message: str,
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    archive = make(tmp_path / "model.zip")
    with pytest.raises(SourceError, match=r"model\.zip: ") as caught, unpacked(archive):
        pass
    assert message in str(caught.value)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["model.zip", "temporary"]
