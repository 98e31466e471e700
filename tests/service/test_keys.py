"""Files of API keys: what is read and what is refused, and how a key is made."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from service.keys import Keys, KeysError


def entry(line: str) -> str:
    """Return the entry of a key, with another line."""
    return f'[a]\nsha256 = "{"0" * 64}"\n{line}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[a", "keys.toml"),
        ("a = 1", "keys.toml: a: must be a table, with sha256$"),
        ("[a]\nadmin = true", "a.sha256: Field required"),
        ('[a]\nsha256 = "short"\n', "a.sha256: must be 64 digits, 0 to 9 and a to f$"),
        ("[a]\nsha256 = 12\n", "a.sha256: must be 64 digits"),
        (entry('admin = "yes"'), 'a.admin = "yes": must be true or false, without quotes$'),
        (entry("admin = 1"), "a.admin = 1: must be true or false"),
        (
            entry("requests_per_minute = true"),
            "a.requests_per_minute = true: must be a whole number from 0 to 1000000$",
        ),
        (entry('requests_per_minute = "60"'), 'a.requests_per_minute = "60": must be a whole'),
        (entry("requests_per_minute = 60.0"), "a.requests_per_minute = 60.0: must be a whole"),
        (entry("requests_per_minute = 60.5"), "a.requests_per_minute = 60.5: must be a whole"),
        (entry("requests_per_minute = -1"), "a.requests_per_minute = -1: must be a whole"),
        (entry("requests_per_minute = 2026-01-01"), 'minute = "2026-01-01": must be a whole'),
        (entry(f"admin = 0x{'f' * 9_000}"), "keys.toml: Exceeds the limit"),
        ('[a]\nsha256 = "' + "0" * 64 + '"\nrate = 1\n', "a.rate: Extra inputs"),
        (
            "".join(f'[{name}]\nsha256 = "{"0" * 64}"\n' for name in "ab"),
            "keys.toml: a and b have the same key",
        ),
        (
            entry(f"requests_per_minute = {'9' * 400}"),
            "a.requests_per_minute = 9{50}…: must be a whole",
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


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_only_a_regular_file_of_keys_is_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "keys.toml"
    make(path)
    with pytest.raises(KeysError, match=r"keys\.toml: is not a regular file"):
        Keys.read(path)


def test_a_missing_file_of_keys_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KeysError, match=r"keys\.toml: cannot be read: No such file"):
        Keys.read(tmp_path / "keys.toml")


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
        ("1b4e28ba-2fa1-11d2-883f\n", "1b4e28ba-2fa1-11d2-883f"),
        ("\ufeff \tein_langer_schlüssel\r\n", "ein_langer_schlüssel"),
        ("k" * 16, "k" * 16),
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
        (b"key\nother key\n", "standard input has more than one line"),
        (b"k" * 257, "the key has more than 256 characters"),
        (b" " * 100_000, "the key has more than 256 characters"),
        (b"a b\n", "the key has blanks or characters that cannot be printed"),
        (b"a\0b\n", "the key has blanks or characters that cannot be printed"),
        (b"a\tb\n", "the key has blanks or characters that cannot be printed"),
        (b"\x1b[A\n", "the key has blanks or characters that cannot be printed"),
        ("a\u2028b\n".encode(), "the key has blanks or characters that cannot be printed"),
        (b"schl\xfcssel\n", "the key is not valid UTF-8"),
        (b"k\n", "the key has 1 characters, and needs at least 16, so that nobody can guess it"),
        (
            "schlüssel-789ab".encode(),
            "the key has 15 characters, and needs at least 16, so that nobody can guess it",
        ),
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
