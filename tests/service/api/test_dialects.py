"""The dialect of each path, with or without a route."""

import pytest
from fastapi.testclient import TestClient

from service.api.dialects import is_probe, translates

NATIVE, DEEPL = {"error", "code"}, {"message", "detail"}


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/nothing", NATIVE),
        ("/v2", NATIVE),
        ("/v2x", NATIVE),
        ("/v2/nothing", DEEPL),
        ("/v3/glossaries", DEEPL),
        ("/v2/models/nothing", NATIVE),
        ("/v2/health/nothing", NATIVE),
        ("/v2/repository/nothing", NATIVE),
        ("/v2/systemsharedmemory/status", NATIVE),
        ("/v2/trace/setting", NATIVE),
    ],
)
def test_errors_have_the_shape_of_their_paths_dialect(
    client: TestClient, path: str, shape: set[str]
) -> None:
    answer = client.delete(path)
    assert answer.status_code in (404, 405)
    assert answer.json().keys() == shape
    assert ("x-trace-id" in answer.headers) == (shape == DEEPL)


def test_paths_that_translate_and_probes_are_recognised() -> None:
    paths = [
        *("/translate", "/v2/translate", "/v2/models/m/infer", "/v2/models/m/versions/1/infer"),
        *("/health", "/health/ready", "/metrics", "/v2/health/live", "/v2/usage", "/languages"),
    ]
    assert [path for path in paths if translates(path)] == paths[:4]
    assert [path for path in paths if is_probe(path)] == paths[4:8]


def test_schemas_of_different_dialects_have_different_names(client: TestClient) -> None:
    names = client.get("/openapi.json").json()["components"]["schemas"]
    # FastAPI puts the module in front of names that are not unique
    assert not [name for name in names if "__" in name]
