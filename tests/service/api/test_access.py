"""API keys and rate limits, with the gate alone and over HTTP."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from service.api.access import Gate, RateLimiter
from service.errors import InvalidKeyError, RateLimitError
from service.keys import Keys, KeysError, digest_of
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[a", "keys.toml"),
        ('[a]\nsha256 = "short"\n', "a.sha256"),
        ('[a]\nsha256 = "' + "0" * 64 + '"\nrate = 1\n', "a.rate: Extra inputs"),
        (
            "".join(f'[{name}]\nsha256 = "{"0" * 64}"\n' for name in "ab"),
            "keys.toml: a and b have the same key",
        ),
        (
            f'[a]\nsha256 = "{"0" * 64}"\nrequests_per_minute = {"9" * 400}\n',
            "a.requests_per_minute",
        ),
        (f"a = {'9' * 5_000}", "keys.toml: Exceeds the limit"),
        (f"a = {'[' * 10_000}", "keys.toml: it is nested too deeply"),
        ("#" * ((1 << 24) + 1), "keys.toml: has more than 16777216 bytes"),
    ],
)
def test_an_invalid_file_of_keys_is_reported_with_the_place(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(content)
    with pytest.raises(KeysError, match=message):
        Keys.read(path)


def make_key(*arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "service.keys", *arguments]
    return subprocess.run(command, input=given, capture_output=True, timeout=60)


def test_a_generated_key_is_accepted(tmp_path: Path) -> None:
    made = make_key("weblate", "--requests-per-minute", "600", "--admin")
    path = tmp_path / "keys.toml"
    path.write_bytes(made.stdout + make_key("x_1-").stdout)
    key = made.stderr.decode().split()[-1]
    found = Keys.read(path).find(key)
    assert found is not None
    name, entry = found
    assert (name, entry.requests_per_minute, entry.admin) == ("weblate", 600, True)
    assert key.encode() not in made.stdout
    assert Keys.read(path).find(key + "x") is None


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("1b4e28ba-2fa1\nand more\n", "1b4e28ba-2fa1"),
        ("\ufeff \tschlüssel\r\n", "schlüssel"),
        ("𝔄" * 256, "𝔄" * 256),
    ],
)
def test_an_existing_key_is_accepted_and_not_shown(tmp_path: Path, given: str, key: str) -> None:
    made = make_key("weblate", "--existing", given=given.encode())
    path = tmp_path / "keys.toml"
    path.write_bytes(made.stdout)
    found = Keys.read(path).find(key)
    assert found is not None
    assert found[0] == "weblate"
    assert key[:4].encode() not in made.stdout + made.stderr


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (b"", "standard input has no key"),
        (b" \r\nkey\n", "standard input has no key"),
        (b"k" * 257, "the key has more than 256 characters"),
        (b" " * 100_000, "the key has more than 256 characters"),
        (b"a b\n", "the key has blanks or characters that cannot be printed"),
        (b"a\0b\n", "the key has blanks or characters that cannot be printed"),
        (b"a\tb\n", "the key has blanks or characters that cannot be printed"),
        (b"\x1b[A\n", "the key has blanks or characters that cannot be printed"),
        ("a\u2028b\n".encode(), "the key has blanks or characters that cannot be printed"),
        (b"schl\xfcssel\n", "the key is not valid UTF-8"),
    ],
)
def test_an_existing_key_that_no_client_could_send_is_refused(given: bytes, problem: str) -> None:
    made = make_key("weblate", "--existing", given=given)
    assert (made.returncode, made.stdout) == (2, b"")
    assert made.stderr.decode().endswith(f"error: --existing: {problem}\n")


def test_an_endless_key_is_refused() -> None:
    with Path("/dev/zero").open("rb") as zeros:
        command = [sys.executable, "-m", "service.keys", "weblate", "--existing"]
        made = subprocess.run(command, stdin=zeros, capture_output=True, timeout=60)
    assert made.returncode == 2
    assert made.stderr.endswith(b"the key has more than 256 characters\n")


@pytest.mark.parametrize(
    ("redirection", "problem"),
    [("<&-", "is closed"), ("0>/dev/null", "cannot be read: Bad file descriptor")],
)
def test_standard_input_without_a_key_is_reported(redirection: str, problem: str) -> None:
    command = [sys.executable, "-m", "attendant", "keys", "weblate", "--existing"]
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command]
    made = subprocess.run(shell, capture_output=True, text=True, timeout=60)
    assert (made.returncode, made.stdout) == (2, "")
    assert made.stderr.endswith(f"error: --existing: standard input {problem}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "--existing"],
        ["müller"],
        ["a b"],
        ["a", "--requests-per-minute=-1"],
        ["a", "--requests-per-minute=1000001"],
    ],
)
def test_invalid_arguments_for_a_key_are_reported(arguments: list[str]) -> None:
    made = make_key(*arguments)
    assert (made.returncode, made.stdout) == (2, b"")
    assert b"error: " in made.stderr


def test_reloading_is_for_admins(settings: Settings, tmp_path: Path) -> None:
    with started(with_keys(settings, tmp_path)) as client:
        for headers, status in ((None, 401), (bearer("slow"), 403), (bearer("root"), 200)):
            assert client.post("/admin/reload", headers=headers).status_code == status
        assert client.post("/translate", json=BODY).status_code == 200
