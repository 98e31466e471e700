"""What lies in docker/: the dashboard asks for metrics that are there."""

import json
import re
from pathlib import Path

from service.metrics import Metrics

DASHBOARD = Path(__file__).parents[1] / "docker" / "grafana" / "attendant.json"


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
