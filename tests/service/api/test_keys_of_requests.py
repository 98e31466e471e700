"""Wrong keys, two keys, and what is known about the use of each key, over HTTP."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message

from service.api.access import WRONG_KEYS_PER_MINUTE, Gate
from service.app import create_app
from service.settings import Settings
from tests.conftest import started
from tests.service.api.asgi import ask
from tests.service.api.test_access import BODY, bearer, with_keys


@pytest.mark.parametrize(
    ("path", "headers", "name"),
    [
        ("/translate", bearer("guess"), "error"),
        ("/translate?api_key=guess", {}, "error"),
        ("/detect", bearer("guess"), "error"),
        ("/admin/reload", bearer("guess"), "error"),
        ("/v2/translate", {"Authorization": "DeepL-Auth-Key guess"}, "message"),
        ("/v2/translate?auth_key=guess", {}, "message"),
        ("/v2/usage", bearer("guess"), "message"),
        ("/v2/models/tiny/infer", bearer("guess"), "error"),
    ],
)
def test_a_wrong_key_in_the_head_is_refused_before_the_body(
    settings: Settings, tmp_path: Path, path: str, headers: dict[str, str], name: str
) -> None:
    async def no_body() -> Message:
        raise AssertionError("the body is read")

    path, _, query = path.partition("?")
    fields = [(key.lower().encode(), value.encode()) for key, value in headers.items()]
    scope = {"path": path, "method": "POST", "headers": fields, "query_string": query.encode()}
    app = create_app(with_keys(settings, tmp_path))
    status, body = asyncio.run(ask(app, scope, receive=no_body))
    assert (status, json.loads(body)[name]) == (403, "Invalid API key")


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/translate", {"api_key": "KEY"}, "error"),
        ("/detect", {"api_key": "KEY"}, "error"),
        ("/v2/usage", {"auth_key": "KEY"}, "message"),
        ("/translate", None, "error"),
        ("/v2/usage", None, "message"),
        ("/v2/models/tiny/infer", None, "error"),
        ("/admin/reload", None, "error"),
    ],
)
def test_wrong_keys_are_limited_by_address_and_right_ones_are_not(
    settings: Settings, tmp_path: Path, path: str, body: dict[str, str] | None, name: str
) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        gate: Gate = client.app.state.services.gate  # type: ignore[attr-defined]
        gate._wrong_keys.clock = lambda: 0.0

        def ask_with(key: str) -> Any:
            if body is None:
                return client.post(path, headers=bearer(key))
            return client.post(path, json=dict.fromkeys(body, key))

        answers = [ask_with(f"guess {number}") for number in range(2 * WRONG_KEYS_PER_MINUTE)]
        statuses = [answer.status_code for answer in answers]
        assert statuses == [403] * WRONG_KEYS_PER_MINUTE + [429] * WRONG_KEYS_PER_MINUTE
        assert answers[-1].json()[name] == "Slowdown: more than 20 wrong API keys per minute"
        assert answers[-1].headers["retry-after"] == "3"
        assert ask_with("root").status_code not in (401, 403, 429)
        assert client.post("/translate", json=BODY).status_code == 200, "it has no key"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/translate", {**BODY, "api_key": "slow"}),
        ("/translate", {**BODY, "api_key": "guess"}),
        ("/translate", {**BODY, "api_key": 5}),
        ("/translate?api_key=slow", BODY),
        ("/v2/translate", {"text": ["Hund"], "target_lang": "EN", "auth_key": "slow"}),
        ("/v2/usage?auth_key=slow", {}),
    ],
)
def test_two_different_keys_are_refused(
    settings: Settings, tmp_path: Path, path: str, body: dict[str, object]
) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        answer = client.post(path, json=body, headers=bearer("root"))
        assert answer.status_code == 400
        told = "the API key in Authorization is not the one in the other fields; send one of them"
        assert told in answer.text
    with started(settings) as client:
        answer = client.post(path, json=body, headers=bearer("root"))
        assert answer.status_code in (200, 400), "without keys, all are ignored"
        assert "Authorization" not in answer.text


def test_the_same_key_may_be_sent_twice(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        for _ in range(2):
            body = {**BODY, "api_key": "slow"}
            answer = client.post("/translate", json=body, headers=bearer("slow"))
            assert answer.status_code == 200, "it counts once"
        assert client.post("/admin/reload?api_key=root").status_code == 401


def test_usage_is_counted_by_key(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path)) as client:

        def usage(headers: dict[str, str]) -> int:
            return int(client.get("/v2/usage", headers=headers).json()["character_count"])

        body = {"text": ["Hund", "Der Hund"], "target_lang": "EN"}
        for headers in (bearer("root"), bearer("root"), {}):
            assert client.post("/v2/translate", json=body, headers=headers).status_code == 200
        assert client.post("/translate", json={**BODY, "api_key": "root"}).status_code == 200
        assert [usage(headers) for headers in (bearer("root"), {})] == [24, 12]
        other = client.post("/v2/usage", json={"auth_key": "slow"})
        assert other.json()["character_count"] == 0


def test_the_log_and_a_metric_name_the_key_but_do_not_contain_it(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "service.access")
    with started(with_keys(settings, tmp_path)) as client:
        caplog.clear()
        for path, body, headers in (
            ("/translate", BODY, bearer("slow")),
            ("/translate", {**BODY, "api_key": "slow"}, {}),
            ("/translate", BODY, bearer("slow")),
            ("/v2/usage", {}, bearer("root")),
            ("/translate", BODY, bearer("guess")),
            ("/translate", BODY, {}),
        ):
            client.post(path, json=body, headers=headers)
        told = [re.sub(r"[\d.]+ ms", "T", message) for message in caplog.messages]
        assert told == [
            "POST /translate 200 T, key weblate",
            "POST /translate 200 T, key weblate",
            "POST /translate 429 T, key weblate",
            "POST /v2/usage 200 T, key boss",
            "POST /translate 403 T",
            "POST /translate 200 T",
        ]
        fields = [vars(record)["fields"].get("key") for record in caplog.records]
        assert fields == ["weblate", "weblate", "weblate", "boss", None, None]
        text = client.get("/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("attendant_requests_by_key_t")]
    assert sorted(lines) == [
        'attendant_requests_by_key_total{key="boss",status="2xx"} 1.0',
        'attendant_requests_by_key_total{key="weblate",status="2xx"} 2.0',
        'attendant_requests_by_key_total{key="weblate",status="4xx"} 1.0',
    ]
    for key in ("slow", "root", "guess"):
        assert key not in text + " ".join(caplog.messages)
