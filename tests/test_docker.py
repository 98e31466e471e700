"""The files in docker/: dashboards and alerts use existing metrics, and containers have minimal rights."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.errors import DeadlineExceededError, QueueFullError
from service.metrics import Metrics
from service.settings import Settings

DOCKER = Path(__file__).parents[1] / "docker"
DASHBOARD = DOCKER / "grafana" / "attendant.json"
ALERTS, ALERTS_TEST = DOCKER / "alerts.yml", DOCKER / "alerts_test.yml"
PROJECT = tomllib.loads((DOCKER.parent / "pyproject.toml").read_text("utf-8"))["project"]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(
    (DOCKER / "compose.yaml").read_text(encoding="utf-8")
)["services"]


FOR_OTHERS = {"attendant", "gpu", "proxy"}
"""Whoever reaches their ports may translate."""
TRANSLATING = {"attendant", "gpu", "replica"}


@pytest.fixture(scope="module")
def metrics() -> set[str]:
    """The names of all metrics, and of those that Prometheus itself adds."""
    made = Metrics()
    made.watch(lambda: None)
    made.requests.labels("/translate", "POST", "200").inc()
    made.errors.labels("queue_full").inc()
    made.sentences.labels("de-en", "ok").inc()
    made.request_seconds.labels("/translate", "2xx").observe(0.1)
    text = made.render().decode()
    return {"up", *re.findall(r"^((?:attendant|process)_\w+)", text, re.MULTILINE)}


def test_the_dashboard_uses_existing_metrics(metrics: set[str]) -> None:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = {
        name
        for panel in panels
        for target in panel["targets"]
        for name in re.findall(r"(?:attendant|process)_\w+", target["expr"])
    }
    assert len(asked) > 10
    assert asked <= metrics


def test_alerts_use_existing_metrics_and_codes(metrics: set[str]) -> None:
    rules = _rules()
    for rule in rules:
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("critical", "warning")
        asked = re.findall(r"\b((?:attendant|process)_\w+|up)\b", rule["expr"])
        assert asked, rule["alert"]
        assert set(asked) <= metrics, rule["alert"]
    [codes] = re.findall('code=~"([^"]+)"', str(rules))
    assert set(codes.split("|")) == {QueueFullError.code, DeadlineExceededError.code}


def test_alerts_see_processes_that_ended_before_they_were_asked() -> None:
    expressions = [rule["expr"] for rule in _rules()]
    [job] = yaml.safe_load((DOCKER / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    selected = f'{{job="{job["job_name"]}"}}'
    assert set(re.findall("{job=[^}]+}", str(expressions))) == {selected}
    [down] = [one for one in expressions if re.search(r"\bup\b", one)]
    assert f"absent(up{selected})" in down, "a name that DNS no longer finds has no target"
    assert any(f"changes(process_start_time_seconds{selected}[" in one for one in expressions)
    gauge = "attendant_engine_up"
    assert not any(gauge in one for one in expressions), "it is 0 only while the process ends"


def test_every_alert_has_tests_for_firing_and_not_firing() -> None:
    tests = yaml.safe_load(ALERTS_TEST.read_text("utf-8"))["tests"]
    looks = [look for test in tests for look in test["alert_rule_test"]]
    names = {rule["alert"] for rule in _rules()}
    assert {look["alertname"] for look in looks if look.get("exp_alerts")} == names
    assert {look["alertname"] for look in looks if not look.get("exp_alerts")} == names


@pytest.mark.parametrize(
    "command",
    [
        ("check", "rules", ALERTS),
        ("check", "config", DOCKER / "prometheus.yml"),
        ("test", "rules", ALERTS_TEST),
    ],
    ids=lambda command: " ".join(map(str, command[:2])),
)
def test_promtool_accepts_rules_and_passes_their_tests(command: tuple[str | Path, ...]) -> None:
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed; it comes with Prometheus")
    done = subprocess.run(["promtool", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_scrapes_every_attendant_container() -> None:
    [job] = yaml.safe_load((DOCKER / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    [found] = job["dns_sd_configs"]
    assert set(found["names"]) == TRANSLATING
    assert found["port"] == Settings.model_fields["port"].default
    assert job.get("metrics_path", "/metrics") == "/metrics"


def _rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def test_panels_do_not_overlap() -> None:
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
def test_containers_drop_all_privileges(name: str) -> None:
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


def test_metrics_and_dashboard_are_only_published_on_localhost() -> None:
    for name in SERVICES.keys() - FOR_OTHERS:
        for port in SERVICES[name].get("ports", ()):
            assert port.startswith("127.0.0.1:"), name


def test_grafana_has_no_login() -> None:
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    for name, value in {
        "GF_AUTH_DISABLE_LOGIN_FORM": "true",
        "GF_AUTH_BASIC_ENABLED": "false",
        "GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": "true",
    }.items():
        assert environment[name] == value
    assert not [name for name in environment if "PASSWORD" in name]


@pytest.mark.parametrize("name", sorted(TRANSLATING))
def test_the_service_has_time_to_drain_and_close(name: str) -> None:
    environment = SERVICES[name]["environment"]
    for variable in environment:
        assert variable.removeprefix("ATTENDANT_").lower() in Settings.model_fields
    delay = environment["ATTENDANT_STOP_DELAY_SECONDS"]
    drain = Settings.model_fields["drain_seconds"].default
    assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) >= delay + drain + 30
    [interval] = re.findall(r"check inter (\d)s", (DOCKER / "haproxy.cfg").read_text("utf-8"))
    assert delay >= 2 * int(interval), "the proxy must notice"


def test_the_default_profile_starts_one_service_and_its_dashboard() -> None:
    always = {name for name, service in SERVICES.items() if "profiles" not in service}
    assert always == {"attendant", "prometheus", "grafana"}
    ports = [port.rpartition(":")[0] for one in SERVICES.values() for port in one.get("ports", ())]
    assert len(set(ports)) == len(ports)


def test_the_image_is_labelled_with_the_version() -> None:
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    assert re.findall(r"^ARG VERSION=(\S+)$", text, re.MULTILINE) == [PROJECT["version"]]
    assert 'org.opencontainers.image.version="${VERSION}"' in text
    assert f'org.opencontainers.image.licenses="{PROJECT["license"]}"' in text


def test_the_build_context_has_all_that_the_image_needs() -> None:
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", dockerfile, re.MULTILINE)
    sent = (DOCKER.parent / ".dockerignore").read_text(encoding="utf-8").split()
    assert {f"!{name}" for names in copied for name in names.split()} <= set(sent)


def test_the_image_runs_unprivileged_and_needs_no_shell() -> None:
    lines = (DOCKER / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    [user] = re.findall(r"^USER (\S+)$", lines, re.MULTILINE)
    assert 0 not in map(int, user.split(":"))
    for command in re.findall(r"^ *CMD (.+)$", lines, re.MULTILINE):
        assert json.loads(command)[0] == "python"
    assert "HEALTHCHECK " in lines
    assert "PYTHONSAFEPATH=1" in lines, "nor imports what somebody put into its working directory"
