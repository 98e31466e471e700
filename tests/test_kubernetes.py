"""The manifests for Kubernetes fit the service and are valid by Kubernetes' own schemas."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from fastapi.testclient import TestClient

from service.metrics import Metrics
from service.settings import Settings

ROOT = Path(__file__).parents[1]
KUBERNETES = ROOT / "docker" / "kubernetes"
FILES = sorted(KUBERNETES.rglob("*.yaml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
PORT = Settings.model_fields["port"].default
SCHEMAS = "1.34"
"""The version of Kubernetes whose schemas are used."""
OVERLAYS = ("cpu", "gpu")
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
Object = dict[str, Any]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(KUBERNETES)))
def test_every_file_is_one_object_with_its_kind(file: Path) -> None:
    [found] = yaml.safe_load_all(file.read_text("utf-8"))
    assert found["apiVersion"]
    assert found["kind"]


def test_every_file_is_used_by_a_kustomization() -> None:
    named = {KUBERNETES / "kserve" / "inferenceservice.yaml"}
    for file in KUBERNETES.rglob("kustomization.yaml"):
        named.add(file)
        named |= {file.parent / one for one in _read(file)["resources"] if one.endswith(".yaml")}
    assert named == set(FILES)


def test_containers_run_the_service_with_existing_settings(fresh_client: TestClient) -> None:
    for container in _containers():
        environment = {one["name"]: one["value"] for one in container["env"]}
        for name in environment:
            assert name.removeprefix("ATTENDANT_").lower() in Settings.model_fields
        assert environment["ATTENDANT_PORT"] == str(PORT), "Kubernetes may set it to an address"
        [port] = container["ports"]
        assert port["containerPort"] == PORT
        for probe in PROBES:
            asked = container[probe]["httpGet"]
            assert asked["port"] in (port["name"], PORT)
            assert fresh_client.get(asked["path"]).status_code == 200
    fresh_client.app.state.services.store.current.close()  # type: ignore[attr-defined]
    for container in _containers():
        paths = {probe: container[probe]["httpGet"]["path"] for probe in PROBES}
        assert fresh_client.get(paths["readinessProbe"]).status_code == 503
        assert fresh_client.get(paths["startupProbe"]).status_code == 503
        assert fresh_client.get(paths["livenessProbe"]).status_code == 200


def test_pods_have_time_to_stop_and_no_privileges() -> None:
    for pod in _pods():
        [container] = pod["containers"]
        environment = {one["name"]: one["value"] for one in container["env"]}
        delay = float(environment["ATTENDANT_STOP_DELAY_SECONDS"])
        drain = float(environment["ATTENDANT_DRAIN_SECONDS"])
        assert pod["terminationGracePeriodSeconds"] >= delay + drain + 30
        assert drain >= Settings.model_fields["request_timeout_seconds"].default
        assert pod["enableServiceLinks"] is False
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        [mount] = container["volumeMounts"]
        [volume] = pod["volumes"]
        assert (mount["mountPath"], mount["name"]) == ("/tmp", volume["name"])


def test_the_user_matches_the_image() -> None:
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text("utf-8")
    [(user, group)] = re.findall(r"^USER (\d+):(\d+)$", dockerfile, re.MULTILINE)
    for pod in _pods():
        context = pod["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"]) == (int(user), int(group))


def test_image_tags_match_the_project_version() -> None:
    for where in ("base", "overlays/gpu"):
        [image] = _read(KUBERNETES / where / "kustomization.yaml")["images"]
        assert image["newTag"].removesuffix("-cuda") == VERSION
    pod = _read(KUBERNETES / "kserve" / "inferenceservice.yaml")["spec"]["predictor"]
    assert pod["containers"][0]["image"] == f"attendant:{VERSION}"


def test_only_existing_metrics_are_queried() -> None:
    metrics = Metrics()
    metrics.watch(lambda: None)
    exposed = metrics.render().decode()
    scaling = _read(KUBERNETES / "components" / "keda" / "scaling.yaml")
    [trigger] = scaling["spec"]["triggers"]
    [name] = re.findall(r"attendant_\w+", trigger["metadata"]["query"])
    assert re.search(rf"^{name} ", exposed, re.MULTILINE)
    monitor = _read(KUBERNETES / "components" / "monitoring" / "monitor.yaml")
    [endpoint] = monitor["spec"]["endpoints"]
    service = _read(KUBERNETES / "base" / "service.yaml")
    assert endpoint["path"] == "/metrics"
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    job = f'job="{service["metadata"]["name"]}"'
    assert job in trigger["metadata"]["query"]
    [group] = _read(ROOT / "docker" / "alerts.yml")["groups"]
    jobs = re.findall('job="[^"]+"', str([rule["expr"] for rule in group["rules"]]))
    assert len(jobs) >= 3
    assert set(jobs) == {job}


def test_memory_figures_are_those_of_the_documents() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    [two_cores] = re.findall(r"two cores, the maximum .*\| (\d+ MiB) \|", text)
    [further_core] = re.findall(r"each further core.* up to (\d+ MiB) at the maximum", text)
    for file in (
        KUBERNETES / "overlays" / "cpu" / "kustomization.yaml",
        ROOT / "docker" / "compose.yaml",
    ):
        found = re.findall(r"\d+ MiB", file.read_text("utf-8"))
        assert set(found) == {two_cores, further_core}, file


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kustomize_builds_valid_objects(overlay: str) -> None:
    built = {one["kind"]: one for one in _built(KUBERNETES / "overlays" / overlay)}
    wanted = {"Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"}
    assert built.keys() - {"HorizontalPodAutoscaler"} == wanted
    for one in built.values():
        kubernetes_validate.validate(one, SCHEMAS, strict=True)
    pods = built["Deployment"]["spec"]["template"]
    label = pods["metadata"]["labels"].items()
    for kind, field in (
        ("Deployment", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        assert built[kind]["spec"][field]["matchLabels"].items() == label, (
            "these pods and no others"
        )
    assert built["Service"]["spec"]["selector"].items() == label
    for spread in pods["spec"]["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"].items() == label
    [rule] = built["NetworkPolicy"]["spec"]["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": PORT}]
    resources = pods["spec"]["containers"][0]["resources"]
    assert ("nvidia.com/gpu" in resources["limits"]) == (overlay == "gpu")
    assert resources["limits"]["cpu"] == resources["requests"]["cpu"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_with_the_operator_only_the_queue_determines_the_number_of_replicas(
    overlay: str, tmp_path: Path
) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, folder)
    file = folder / "overlays" / overlay / "kustomization.yaml"
    text, changes = re.subn(r"(?m)^# (components: )", r"\1", file.read_text("utf-8"))
    assert changes == 1
    file.write_text(text, "utf-8")
    built = {one["kind"]: one for one in _built(file.parent)}
    assert {"ScaledObject", "ServiceMonitor"} < built.keys()
    assert "HorizontalPodAutoscaler" not in built
    assert "replicas" not in built["Deployment"]["spec"]
    target = built["ScaledObject"]["spec"]["scaleTargetRef"]["name"]
    assert target == built["Deployment"]["metadata"]["name"]
    wanted = built["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= built["Service"]["metadata"]["labels"].items()


def _built(folder: Path) -> list[Object]:
    """Build an overlay with Kustomize."""
    program = next((one for one in ("kustomize", "kubectl") if shutil.which(one)), None)
    if program is None:
        pytest.skip("neither kustomize nor kubectl is installed")
    command = ["kustomize", "build"] if program == "kustomize" else ["kubectl", "kustomize"]
    done = subprocess.run([*command, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def _read(file: Path) -> Object:
    found: Object = yaml.safe_load(file.read_text("utf-8"))
    return found


def _pods() -> Iterator[Object]:
    """Yield the pod specification of each manifest."""
    yield _read(KUBERNETES / "base" / "deployment.yaml")["spec"]["template"]["spec"]
    yield _read(KUBERNETES / "kserve" / "inferenceservice.yaml")["spec"]["predictor"]


def _containers() -> Iterator[Object]:
    for pod in _pods():
        yield from pod["containers"]
