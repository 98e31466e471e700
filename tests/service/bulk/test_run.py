"""Whole runs with a fake translation, so that every line can be checked."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from service.bulk import reader, run
from service.bulk.compression import compressor, opened
from service.bulk.errors import BulkError
from service.bulk.files import Wanted
from service.bulk.pump import Translate
from service.translation.types import Translation

LINES = [f"line {number}\n" for number in range(1, 101)]


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "WINDOW_LINES", 10)
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", 0.0)


def upper(texts: Sequence[str]) -> list[Translation]:
    return [Translation(text.upper(), (), ()) for text in texts]


def failing_at(number: int) -> Translate:
    def translate(texts: Sequence[str]) -> list[Translation]:
        if f"line {number}" in texts:
            raise OSError("the power failed")
        return upper(texts)

    return translate


def started(job: run.Job, translate: Translate = upper, target: str = "en") -> int:
    return run.run(job, lambda: (translate, {"target": target}))


def read(path: Path) -> str:
    with opened(path) as (file, _):
        return file.read().decode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("".join(LINES))
    return path


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_run_that_fails_twice_is_continued(tmp_path: Path, source: Path, suffix: str) -> None:
    job = run.Job(source, tmp_path / f"out.txt{suffix}", Wanted())
    asked: list[str] = []

    def counted(texts: Sequence[str]) -> list[Translation]:
        asked.extend(texts)
        return upper(texts)

    for number in (55, 85):
        with pytest.raises(OSError, match="the power failed"):
            started(job, failing_at(number))
        assert job.part.stat().st_size > 0
        assert not job.out.exists()
        with job.part.open("ab") as file:
            file.write(b"cut shor")  # written, but not recorded
    assert started(job, counted) == 0
    assert read(job.out) == "".join(LINES).upper()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", job.out.name]
    assert 15 < len(asked) < 50, "what was written is not translated again"


def test_a_folder_is_translated_file_by_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("".join(LINES))
    (folder / "b.txt").write_text("")
    (folder / "c.tsv").write_text("1\tone\n2\ttwo\n")
    (folder / "sub" / "d.jsonl.gz").write_bytes(gzip.compress(b'{"t": "three"}\n' * 40))
    (folder / "e.pdf").write_bytes(b"%PDF")
    job = run.Job(folder, tmp_path / "out", Wanted(column=2, field="t"))
    for text in ("line 33", "three"):

        def failing(texts: Sequence[str], text: str = text) -> list[Translation]:
            if text in texts:
                raise OSError("the power failed")
            return upper(texts)

        with pytest.raises(OSError, match="the power failed"):
            started(job, failing)
    (job.part / "a.txt").rename(tmp_path / "kept")
    with pytest.raises(BulkError, match=r"a\.txt was written, but is missing"):
        started(job)
    (tmp_path / "kept").rename(job.part / "a.txt")
    assert started(job) == 0
    assert read(job.out / "a.txt") == "".join(LINES).upper()
    assert read(job.out / "b.txt") == ""
    assert read(job.out / "c.tsv") == "1\tONE\n2\tTWO\n"
    assert read(job.out / "sub" / "d.jsonl.gz") == '{"t": "THREE"}\n' * 40
    assert not (job.out / "e.pdf").exists()
    assert f"{folder / 'e.pdf'} is skipped" in capsys.readouterr().err


def test_untranslated_lines_are_reported_and_counted_across_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"u": 1}\n' + "".join(f'{{"t": "line {n}"}}\n' for n in range(2, 81)))
    job = run.Job(source, tmp_path / "out.jsonl", Wanted(field="t"))
    with pytest.raises(OSError, match="the power failed"):
        started(job, failing_at(55))
    assert (
        f"{source}, line 1 is not fully translated: its field t is missing"
        in capsys.readouterr().err
    )
    assert started(job) == 1
    assert read(job.out).splitlines()[:2] == ['{"u": 1}', '{"t": "LINE 2"}']


def test_existing_output_is_not_overwritten(tmp_path: Path, source: Path) -> None:
    job = run.Job(source, tmp_path / "out.txt", Wanted())
    job.out.write_text("precious")
    with pytest.raises(BulkError, match=r"out.txt exists already: delete it, or name another"):
        started(job)
    job.out.rename(job.part)
    with pytest.raises(
        BulkError, match=r"out.txt.part exists already, but out.txt.state is missing"
    ):
        started(job)
    assert job.part.read_text() == "precious"


@pytest.mark.parametrize("what", ["target", "input", "column", "part"])
def test_another_command_does_not_continue_a_run(tmp_path: Path, source: Path, what: str) -> None:
    job = run.Job(source, tmp_path / "out.txt", Wanted())
    with pytest.raises(OSError, match="the power failed"):
        started(job, failing_at(85))
    said = f"in which {what} was "
    if what == "part":
        job.part.write_bytes(b"")
        said = "out.txt.part has 0 bytes, but [0-9]+ were written"
    if what == "input":
        source.write_text("".join([*LINES, "one more\n"]))
    wanted = Wanted(kind="tsv", column=1) if what == "column" else Wanted()
    with pytest.raises(BulkError, match=said):
        started(run.Job(source, job.out, wanted), target="fr" if what == "target" else "en")


def test_a_change_at_the_end_of_a_large_input_is_noticed(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("".join([*LINES * 1000, "the last\n"]))
    job = run.Job(source, tmp_path / "out.txt", Wanted())
    with pytest.raises(OSError, match="the power failed"):
        started(job, failing_at(85))
    source.write_text("".join([*LINES * 1000, "the LAST\n"]))
    with pytest.raises(BulkError, match="in which input was "):
        started(job)


@pytest.mark.parametrize(
    ("name", "wanted", "said"),
    [
        ("in.csv", Wanted(), r"does not end in .txt, .tsv or .jsonl: say with --kind"),
        ("in.tsv", Wanted(), "needs --column, the number of"),
        ("in.jsonl.gz", Wanted(), "needs --field, the name of"),
        (
            "in.txt",
            Wanted(keep=True),
            "--keep has no effect on .*: it is for lines of the kind tsv or jsonl",
        ),
        ("in.txt", Wanted(column=1), "--column has no effect on .* the kind tsv"),
        ("in.tsv", Wanted(column=1, field="text"), "--field has no effect on .* the kind jsonl"),
    ],
)
def test_the_layout_of_lines_must_be_known(
    tmp_path: Path, name: str, wanted: Wanted, said: str
) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(BulkError, match=said):
        started(run.Job(tmp_path / name, tmp_path / "out", wanted))


def test_a_folder_must_have_files_and_not_contain_its_output(tmp_path: Path) -> None:
    with pytest.raises(BulkError, match="has no file whose name ends in"):
        started(run.Job(tmp_path, tmp_path.parent / "none", Wanted()))
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(BulkError, match="its files would be translated again"):
        started(run.Job(tmp_path, tmp_path / "out", Wanted()))


def test_what_is_no_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, elsewhere = tmp_path / "in", tmp_path / "elsewhere"
    for made in (folder, elsewhere):
        made.mkdir()
        (made / "a.txt").write_text("a\n")
    (folder / "dangling.txt").symlink_to(tmp_path / "gone.txt")
    (folder / "more").symlink_to(elsewhere)
    os.mkfifo(folder / "pipe.txt")
    assert started(run.Job(folder, tmp_path / "out", Wanted())) == 0
    told = "".join(
        f"{folder / name} is skipped: it is not a file\n"
        for name in ("dangling.txt", "more", "pipe.txt")
    )
    assert capsys.readouterr().err.startswith(told)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_folders_that_cannot_be_read_are_not_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "closed").mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    (folder / "closed").chmod(0)
    try:
        with pytest.raises(PermissionError):
            started(run.Job(folder, tmp_path / "out", Wanted()))
    finally:
        (folder / "closed").chmod(0o700)


def test_the_translation_of_an_empty_file_is_valid(tmp_path: Path) -> None:
    for suffix in (".gz", ".zst", ""):
        (tmp_path / f"in.txt{suffix}").write_bytes(compressor(suffix)(b""))
        job = run.Job(tmp_path / f"in.txt{suffix}", tmp_path / f"out.txt{suffix}", Wanted())
        assert started(job) == 0
        assert read(job.out) == ""


def test_names_need_not_be_utf8(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    try:
        (folder / "a\udcff.txt").write_text("a\n")
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    assert started(run.Job(folder, out, Wanted())) == 0
    assert (out / "a\udcff.txt").read_text() == "A\n"


def test_loops_of_links_are_reported(tmp_path: Path, source: Path) -> None:
    folder, loop = tmp_path / "in", tmp_path / "loop.txt"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    loop.symlink_to(loop)
    for given in (source, folder):
        with pytest.raises(BulkError, match="exists already"):
            started(run.Job(given, loop, Wanted()))
        with pytest.raises(OSError, match="symbolic links"):
            started(run.Job(given, loop / "out", Wanted()))
    with pytest.raises(OSError, match="symbolic links"):
        started(run.Job(loop, tmp_path / "out", Wanted()))
