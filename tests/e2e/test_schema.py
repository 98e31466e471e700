"""Requests made up from the documented interface: no failure of the server, no undocumented answer."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TINY_BUNDLE
from tests.e2e.test_server import serving

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance,unsupported_method"
)


@pytest.mark.slow
def test_made_up_requests_get_documented_answers(tmp_path: Path) -> None:
    with serving(TINY_BUNDLE, precision="fp32") as server:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
                *("--phases", "coverage,fuzzing", "--max-examples", "20", "--seed", "1"),
                *("--checks", CHECKS, "--generation-database", "none"),
            ],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout
