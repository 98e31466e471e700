"""What lies in docker/: the dashboard asks for metrics that are there; no container may more than it must."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.metrics import Metrics
from service.settings import Settings

DOCKER = Path(__file__).parents[1] / "docker"
DASHBOARD = DOCKER / "grafana" / "attendant.json"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(
    (DOCKER / "compose.yaml").read_text(encoding="utf-8")
)["services"]


def test_the_dashboard_asks_only_for_metrics_that_exist() -> None:
    metrics = Metrics()
    metrics.watch(lambda: 0, lambda: 0, lambda: True)
    metrics.requests.labels("/translate", "POST", "200").inc()
    metrics.errors.labels("queue_full").inc()
    metrics.sentences.labels("de-en", "ok").inc()
    metrics.request_seconds.labels("/translate").observe(0.1)
    there = set(
        re.findall(r"^((?:attendant|process)_\w+)", metrics.render().decode(), re.MULTILINE)
    )
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"(?:attendant|process)_\w+", target["expr"])
    }
    assert len(asked) > 10
    assert asked <= there


def test_no_two_panels_lie_on_one_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_has_no_more_rights_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert not {"cap_add", "privileged", "network_mode", "pid", "user", "devices"} & service.keys()
    assert re.fullmatch("[1-9][0-9]*[mg]", service["mem_limit"])
    assert 0 < service["pids_limit"] <= 1000
    for volume in service.get("volumes", []):
        source, *_ = volume.split(":")
        assert volume.endswith(":ro") == source.startswith("./"), (
            "what is the host's is not written"
        )
        assert not source.startswith("./") or (DOCKER / source).is_file()


def test_metrics_and_dashboard_are_for_this_machine_alone() -> None:
    for name in SERVICES.keys() - {"attendant"}:
        for port in SERVICES[name]["ports"]:
            assert port.startswith("127.0.0.1:"), name


def test_nobody_can_log_in_to_grafana() -> None:
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    for name, value in {
        "GF_AUTH_DISABLE_LOGIN_FORM": "true",
        "GF_AUTH_BASIC_ENABLED": "false",
        "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true",
    }.items():
        assert environment[name] == value
    assert not [name for name in environment if "PASSWORD" in name]


def test_the_service_has_time_to_drain_and_close() -> None:
    drain = Settings.model_fields["drain_seconds"].default
    assert int(SERVICES["attendant"]["stop_grace_period"].removesuffix("s")) >= drain + 30


def test_the_image_runs_as_nobody_and_needs_no_shell() -> None:
    lines = (DOCKER / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    [user] = re.findall(r"^USER (\S+)$", lines, re.MULTILINE)
    assert 0 not in map(int, user.split(":"))
    for command in re.findall(r"^ *CMD (.+)$", lines, re.MULTILINE):
        assert json.loads(command)[0] == "python"
    assert "HEALTHCHECK " in lines
    assert "PYTHONSAFEPATH=1" in lines, "nor imports what somebody put into its working directory"
