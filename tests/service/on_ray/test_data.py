"""Ray Data translates each row once and keeps its other columns, even if a run was killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from service import Translator
from tests import toy
from tests.conftest import TINY_BUNDLE

pytest.importorskip("ray")
from pyarrow import parquet

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

SMALL_BLOCKS = """
import sys
import ray
from service.on_ray import data
if __name__ == "__main__":
    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=100 << 20)
    data.BATCH_ROWS = data.BLOCK_ROWS = 256
    sys.exit(data.main(sys.argv[1:]))
"""


def test_a_run_that_is_killed_is_continued(tmp_path: Path) -> None:
    german = [sentence for sentence, _ in toy.sentences()]
    texts = [*(german * 6), "Hund " * 500]
    rows = [{"id": number, "text": text, "more": f"m{number}"} for number, text in enumerate(texts)]
    source, out, checkpoints = (tmp_path / name for name in ("in.jsonl", "out", "checkpoints"))
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-c", SMALL_BLOCKS, str(source), str(out), "--source", "de"]
    command += ["--target", "en", "--bundle", str(TINY_BUNDLE), "--checkpoints", str(checkpoints)]
    command += ["--cores", "1", "--workers", "16"]  # limited by the number of cores
    with subprocess.Popen(command, start_new_session=True) as process:
        end = time.monotonic() + 240
        while not list(checkpoints.rglob("*.parquet")) and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    assert subprocess.run(command, timeout=600).returncode == 0
    found = {row["id"]: row for row in parquet.read_table(out).to_pylist()}
    assert sorted(found) == list(range(len(rows))), "every row"
    assert parquet.read_table(out).num_rows == len(rows), "once"
    assert all(found[row["id"]]["more"] == row["more"] for row in rows)
    assert "exceeds the model's limit" in found[len(german) * 6]["problem"]
    with Translator.load(TINY_BUNDLE, device="cpu", num_workers=1) as translator:
        expected = [one.text for one in translator.translate(german[:50], "de", "en")]
    same = [found[at]["translation"] == text for at, text in enumerate(expected)]
    assert sum(same) >= 48, "int8 may differ with the batch"
