"""API keys and rate limits, with the gate alone and over HTTP."""

import tracemalloc
from pathlib import Path

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from service.api.access import Gate, RateLimiter
from service.errors import InvalidKeyError, RateLimitError
from service.keys import digest_of
from service.settings import Settings
from tests.conftest import started

BODY = {"q": "Der alte Hund schläft.", "source": "de", "target": "en"}


def keys_file(folder: Path) -> Path:
    path = folder / "keys.toml"
    path.write_text(
        f'[weblate]\nsha256 = "{digest_of("slow")}"\nrequests_per_minute = 2\n'
        f'[boss]\nsha256 = "{digest_of("root")}"\nadmin = true\n'
    )
    return path


def with_keys(settings: Settings, folder: Path, **more: object) -> Settings:
    return settings.model_copy(update={"api_keys": keys_file(folder), **more})


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_a_key_is_needed_only_if_it_is_required(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        assert client.post("/translate", json=BODY).status_code == 200
    with started(with_keys(settings, tmp_path, key_required=True)) as client:
        for path in ("/translate", "/detect"):
            answer = client.post(path, json=BODY)
            assert (answer.status_code, answer.json()["code"]) == (401, "missing_key")
        assert client.post("/translate", json={**BODY, "api_key": "root"}).status_code == 200
        assert client.post("/translate", json=BODY, headers=bearer("root")).status_code == 200
        assert client.get("/languages").status_code == 200
        assert client.get("/frontend/settings").json()["keyRequired"]
        deepl = client.post("/v2/translate", json={"text": ["Hund"], "target_lang": "EN"})
        assert deepl.status_code == 403
        for path in ("/v2/languages", "/v3/languages?resource=write", "/v2/usage"):
            assert client.get(path).status_code == 403
            assert client.get(path, headers=bearer("root")).status_code == 200


def test_an_invalid_key_is_refused_even_if_none_is_required(
    settings: Settings, tmp_path: Path
) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        answer = client.post("/translate", json={**BODY, "api_key": "guess"})
        assert (answer.status_code, answer.json()["error"]) == (403, "Invalid API key")


def test_a_key_in_the_head_may_be_utf8_or_latin1(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(f'[old]\nsha256 = "{digest_of("schlüssel")}"\n')
    found = settings.model_copy(update={"api_keys": path, "key_required": True})
    with started(found) as client:
        for encoding in ("utf-8", "latin-1"):
            fields = [(b"authorization", "Bearer schlüssel".encode(encoding))]
            assert client.post("/translate", json=BODY, headers=fields).status_code == 200
        wrong = client.post("/translate", json=BODY, headers=[(b"authorization", b"Bearer \xff")])
        assert wrong.json()["code"] == "invalid_key"


WRONG = [
    ("/translate", b'{"q": 5, "api_key": "KEY"}'),
    ("/translate", b'{"api_key": "KEY"}'),
    ("/translate?api_key=KEY", b'{"q": "no end'),
    ("/detect", b'{"q": 5, "api_key": "KEY"}'),
    ("/v2/translate", b'{"auth_key": "KEY"}'),
    ("/v2/translate?auth_key=KEY", b"[1]"),
    ("/v2/languages", b'{"type": 5, "auth_key": "KEY"}'),
    ("/v2/usage?auth_key=KEY", b"{"),
]


def test_the_key_is_checked_before_the_request(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path, key_required=True)) as client:
        for path, content in WRONG:
            found: list[int] = []
            for key in ("", "guess", "root"):
                body = content.replace(b"KEY", key.encode())
                found.append(client.post(path.replace("KEY", key), content=body).status_code)
            assert found == [403 if path.startswith("/v2") else 401, 403, 400], path


def test_invalid_requests_count_towards_the_rate_limit(settings: Settings) -> None:
    with started(settings.model_copy(update={"requests_per_minute": 2})) as client:
        answers = [client.post("/translate", content=content) for content in (b"{", b"{}", b"{")]
    assert [answer.status_code for answer in answers] == [400, 400, 429]
    assert answers[-1].json()["code"] == "rate_limit"


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_key_in_the_body_does_not_hide_one_in_the_query(
    settings: Settings, tmp_path: Path, empty: str | None
) -> None:
    with started(with_keys(settings, tmp_path, key_required=True)) as client:
        body = {**BODY, "api_key": empty}
        assert client.post("/translate?api_key=root", json=body).status_code == 200
        twice = client.post("/translate?api_key=root", json={**BODY, "api_key": "slow"})
        assert twice.status_code == 400
        assert client.post("/translate?api_key=", json=body).status_code == 401


def test_without_a_file_of_keys_any_key_is_ignored(client: TestClient) -> None:
    for key in ("anything", None, ""):
        assert client.post("/translate", json={**BODY, "api_key": key}).status_code == 200


def test_rates_are_limited_by_key_and_by_address(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path, requests_per_minute=1)) as client:
        statuses = [
            client.post("/translate", json=BODY, headers=bearer("slow")).status_code
            for _ in range(3)
        ]
        assert statuses == [200, 200, 429]
        assert client.post("/translate", json=BODY).status_code == 200
        refused = client.post("/translate", json=BODY)
        assert refused.status_code == 429
        assert refused.json()["error"] == "Slowdown: more than 1 requests per minute"
        assert 50 <= int(refused.headers["retry-after"]) <= 60
        assert client.post("/translate", json=BODY, headers=bearer("root")).status_code == 200


@pytest.mark.parametrize(
    ("first", "second", "is_one_client"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8:0:0:ffff::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("x" * 60_000, "y" * 60_000, True),
        ("", None, True),
    ],
)
def test_addresses_of_one_client_share_a_rate_limit(
    settings: Settings, first: str, second: str | None, is_one_client: bool
) -> None:
    gate = Gate(settings.model_copy(update={"requests_per_minute": 1}))
    gate.enter(coming_from(first))
    if is_one_client:
        with pytest.raises(RateLimitError):
            gate.enter(coming_from(second))
    else:
        gate.enter(coming_from(second))
    assert sum(map(len, gate._limiter._buckets)) < 200, "no caller chooses what is remembered"


def test_the_memory_of_the_rate_limits_is_bounded(settings: Settings) -> None:
    gate = Gate(settings)
    tracemalloc.start()
    try:
        for number in range(100):
            gate.enter(coming_from(f"{number}{'x' * 60_000}"))
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def coming_from(host: str | None) -> Request:
    client = None if host is None else (host, 0)
    return Request({"type": "http", "headers": [], "client": client})


@pytest.mark.parametrize("key", ["\ud800", "x" * 9_000, 5, ["a"], {"a": 1}, True])
def test_values_of_any_type_as_a_key_are_handled(
    settings: Settings, tmp_path: Path, key: object
) -> None:
    gate = Gate(with_keys(settings, tmp_path))
    with pytest.raises(InvalidKeyError):
        gate.enter(coming_from("192.0.2.1"), key)


def test_a_bucket_refills_evenly_up_to_its_capacity() -> None:
    now = 0.0
    limiter = RateLimiter(clock=lambda: now)
    for _ in range(60):
        limiter.take("somebody", 60)
    with pytest.raises(RateLimitError) as refused:
        limiter.take("somebody", 60)
    assert refused.value.retry_after == pytest.approx(1)
    now = 1.0
    limiter.take("somebody", 60)
    now = 1000.0
    for _ in range(60):
        limiter.take("somebody", 60)
    with pytest.raises(RateLimitError):
        limiter.take("somebody", 60)
    limiter.take("somebody else", 60)


def test_reloading_is_for_admins(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        for headers, status in ((None, 401), (bearer("slow"), 403), (bearer("root"), 200)):
            assert client.post("/admin/reload", headers=headers).status_code == status
        assert client.post("/translate", json=BODY).status_code == 200


@pytest.mark.parametrize(
    ("content", "required", "is_told"),
    [
        ("# none yet\n", True, True),
        ("", False, False),
        (f'[a]\nsha256 = "{"0" * 64}"', True, False),
    ],
)
def test_a_required_key_that_nobody_can_have_is_told(
    content: str,
    required: bool,
    is_told: bool,
    settings: Settings,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(content)
    Gate(settings.model_copy(update={"api_keys": path, "key_required": required}))
    told = f"{path} has no keys, but ATTENDANT_KEY_REQUIRED is set: nobody can translate"
    assert caplog.messages == ([told] if is_told else [])
