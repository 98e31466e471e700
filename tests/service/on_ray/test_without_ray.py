"""Replicas and workers with a fake of Ray; test_serve.py and test_data.py run them on Ray itself."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.settings import Settings
from tests.conftest import TINY_BUNDLE
from tests.service.on_ray.fake_ray import FakeRay

SETTINGS = Settings(bundle=(TINY_BUNDLE,), precision="fp32", device="cpu", max_requests=40)
MODULES = ("service.on_ray.serve", "service.on_ray.data")


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    """Replace Ray, whether it is installed or not, for modules that are imported in the test."""
    fake = FakeRay()
    for module in fake.modules():
        monkeypatch.setitem(sys.modules, module.__name__, module)
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    yield fake
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.mark.parametrize(
    ("assigned", "asked", "expected"),
    [({"CPU": 1.5}, 0, 2), ({"CPU": 4.0}, 1, 1), ({"CPU": 4.0, "GPU": 1.0}, 0, 0)],
)
def test_a_replica_uses_the_cores_that_it_is_assigned(
    ray: FakeRay, assigned: dict[str, float], asked: int, expected: int
) -> None:
    serve = import_module("service.on_ray.serve")
    ray.assigned = assigned
    app = serve.replica_app(SETTINGS.model_copy(update={"num_workers": asked}))
    assert app.state.services.settings.num_workers == expected


def test_a_replica_is_ready_and_has_metrics_once_it_is_started(
    ray: FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve, ports = import_module("service.on_ray.serve"), list[int]()

    def start_http_server(port: int, registry: Any) -> None:
        ports.append(port)
        if port < 9402:
            raise OSError("in use")

    monkeypatch.setattr(serve, "start_http_server", start_http_server)
    replica = serve.Attendant()
    replica.app = serve.replica_app(SETTINGS)
    replica.check_health()  # not while it starts, either
    with TestClient(replica.app) as client:
        assert client.get("/health/ready").status_code == 200
        replica.check_health()
        store = replica.app.state.services.store
        [model] = store.current.models
        monkeypatch.setattr(type(model.engine), "is_alive", False)
        with pytest.raises(RuntimeError, match="engine"):
            replica.check_health()
        monkeypatch.undo()
    assert ports == [9400, 9401, 9402]


def test_a_replica_whose_model_cannot_be_loaded_does_not_start(
    ray: FakeRay, tmp_path: Path
) -> None:
    serve = import_module("service.on_ray.serve")
    app = serve.replica_app(SETTINGS.model_copy(update={"bundle": (tmp_path,)}))
    with pytest.raises(RuntimeError, match=f"{tmp_path} is not a bundle"), TestClient(app):
        pass


@pytest.mark.usefixtures("ray")
def test_the_service_refuses_requests_before_ray_queues_them() -> None:
    serve = import_module("service.on_ray.serve")
    deployment = serve.deployment_of(SETTINGS)
    assert issubclass(deployment.replica, serve.Attendant)
    assert deployment.options["max_ongoing_requests"] == 80
    assert deployment.options["graceful_shutdown_timeout_s"] > SETTINGS.drain_seconds


@pytest.mark.parametrize(
    ("cluster", "missing"),
    [
        ({"CPU": 4.0, "GPU": 1.0}, []),
        ({"CPU": 3.0, "GPU": 1.0}, ["3 CPUs, but one worker and reading need 4"]),
        ({"CPU": 4.0}, ["0 GPUs, but one worker and reading need 1"]),
    ],
)
@pytest.mark.usefixtures("ray")
def test_a_cluster_that_is_too_small_is_reported(
    cluster: dict[str, float], missing: list[str]
) -> None:
    data = import_module("service.on_ray.data")
    options = data._parse(["in", "out", "--checkpoints", "folder", "--gpu"])
    found = data._missing(options, cluster)
    assert len(found) == len(missing)
    assert all(part in problem for part, problem in zip(missing, found, strict=True))


def test_rows_keep_their_columns_and_get_a_translation_or_a_problem(
    ray: FakeRay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = import_module("service.on_ray.data")
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    texts = (
        "Der alte Hund schläft.",
        "Hund " * 500,
        "Der alte {n, plural, one {Hund} other {Mann}} #1 schläft.",
        None,  # as is usual in Parquet
    )
    rows = [{"id": number, "text": text} for number, text in enumerate(texts, 1)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ray.cluster = {"CPU": 2.0}
    arguments = [str(source), str(out), "--source", "de", "--target", "en", "--cores", "1"]
    arguments += ["--bundle", str(TINY_BUNDLE), "--checkpoints", "folder", "--workers", "3"]
    assert data.main(arguments) == 0
    assert "the cluster has 2 CPUs" in capsys.readouterr().err
    translated, untranslated, partly, null = map(json.loads, out.read_text().splitlines())
    assert (translated["translation"], translated["problem"]) == ("The old dog sleeps.", "")
    assert untranslated["translation"] == rows[1]["text"]
    assert "exceeds the model's limit" in untranslated["problem"]
    assert (null["translation"], null["problem"]) == ("", "it is not a string")
    assert partly["problem"].startswith("the branches of ")
    assert ray.context.checkpoint_config["id_column"] == "id"
    assert ray.datasets[0].options["num_cpus"] == 1
    assert ray.datasets[0].options["compute"] == {"min_size": 1, "max_size": 3}
