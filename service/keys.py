"""API keys: stored as SHA-256 in a TOML file, looked up in constant time.

`python -m service.keys NAME` makes a key. It writes the entry for the file to standard output, and the key
itself only to standard error. An entry:

    [weblate]
    sha256 = "..."
    requests_per_minute = 600   # rate limit; 0, the default, means none
    admin = false               # whether the key may reload the models
"""

import argparse
import hashlib
import hmac
import json
import re
import secrets
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISREG
from typing import TextIO

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

MAX_REQUESTS_PER_MINUTE = 1_000_000
MIN_KEY_CHARACTERS, MAX_KEY_CHARACTERS = 16, 256
MAX_FILE_BYTES = 1 << 24
MAX_SHOWN_CHARACTERS = 50
"""Length up to which an error quotes a value."""
_ALLOWED = {
    "sha256": "64 digits, 0 to 9 and a to f",
    "requests_per_minute": f"a whole number from 0 to {MAX_REQUESTS_PER_MINUTE}",
    "admin": "true or false, without quotes",
}
"""The values of each field of an entry."""


class Key(BaseModel):
    """The entry of one key: its digest and permissions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    requests_per_minute: int = Field(default=0, ge=0, le=MAX_REQUESTS_PER_MINUTE)
    admin: bool = False


class KeysError(ValueError):
    """The file of keys is invalid; the message names the place."""


class Keys:
    """The keys of one file."""

    def __init__(self, entries: dict[str, Key]) -> None:
        """Use these entries, by name."""
        self.entries = entries

    @classmethod
    def read(cls, path: Path) -> "Keys":
        """Read a file of keys.

        Raises:
            KeysError: the file cannot be read, or an entry is invalid.
        """
        try:
            if not S_ISREG(path.stat().st_mode):  # to open a pipe takes until somebody writes to it
                raise ValueError("is not a regular file")
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
            if len(content) > MAX_FILE_BYTES:
                raise ValueError(f"has more than {MAX_FILE_BYTES} bytes")
            entries = _entries(tomllib.loads(content.decode()))
        except OSError as error:
            raise KeysError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:  # among others: not TOML, or a number with too many digits
            raise KeysError(f"{path}: {error}") from None
        except RecursionError:
            raise KeysError(f"{path}: it is nested too deeply") from None
        owners: dict[str, str] = {}
        for name, entry in entries.items():
            if (owner := owners.setdefault(entry.sha256, name)) != name:
                raise KeysError(f"{path}: {owner} and {name} have the same key")
        return cls(entries)

    def find(self, key: str) -> tuple[str, Key] | None:
        """Return the name and entry of a key. All entries are compared, so that timing reveals nothing."""
        digest, match = digest_of(key), None
        for name, entry in self.entries.items():
            if hmac.compare_digest(entry.sha256, digest):
                match = name, entry
        return match


def _entries(tables: dict[str, object]) -> dict[str, Key]:
    """Return the entries in a file's tables.

    Raises:
        ValueError: one is invalid; the message names the place, the value and what is allowed.
    """
    try:
        return TypeAdapter(dict[str, Key]).validate_python(tables)
    except ValidationError as error:
        raise ValueError(_explained(error.errors()[0])) from None


def _explained(error: ErrorDetails) -> str:
    place, field = ".".join(map(str, error["loc"])), error["loc"][-1]
    if len(error["loc"]) == 1:
        return f"{place}: must be a table, with sha256"
    if field not in _ALLOWED or error["type"] == "missing":
        return f"{place}: {error['msg']}"
    if field != "sha256":  # which may be the key itself, by mistake
        shown = json.dumps(error["input"], default=str)
        place += f" = {shown[:MAX_SHOWN_CHARACTERS]}{'…' * (len(shown) > MAX_SHOWN_CHARACTERS)}"
    return f"{place}: must be {_ALLOWED[str(field)]}"


def digest_of(key: str) -> str:
    """Return the SHA-256 of a key; random keys of 256 bits need no slower hash."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def main(arguments: Sequence[str]) -> int:
    """Make a key; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="attendant keys",
        description="Make an API key: its entry goes to standard output, the key itself to standard error.",
    )
    parser.add_argument(
        "name", type=_name, help="name of the owner: letters a to z, digits, - and _"
    )
    parser.add_argument(
        "--requests-per-minute",
        type=int,
        default=0,
        help="rate limit of the key; 0, the default, means none",
    )
    parser.add_argument("--admin", action="store_true", help="the key may reload the models")
    parser.add_argument(
        "--existing",
        action="store_true",
        help="read the key from standard input instead of making one, so that clients keep theirs",
    )
    options = parser.parse_args(arguments)
    if not 0 <= options.requests_per_minute <= MAX_REQUESTS_PER_MINUTE:
        parser.error(
            f"--requests-per-minute must be between 0 and {MAX_REQUESTS_PER_MINUTE}, "
            f"but is {options.requests_per_minute}"
        )
    if not options.existing and sys.__stderr__ is None:
        return 1  # standard error, which would show both the key and this error, is closed
    try:
        key = _existing(sys.stdin) if options.existing else secrets.token_urlsafe(32)
    except ValueError as error:
        parser.error(f"--existing: {error}")
    sys.stdout.write(
        f'[{options.name}]\nsha256 = "{digest_of(key)}"\n'
        f"requests_per_minute = {options.requests_per_minute}\nadmin = {str(options.admin).lower()}\n\n"
    )
    sys.stdout.flush()  # so that no key is shown whose entry cannot be written
    if not options.existing:
        print(f"the key of {options.name}, which is shown only once: {key}", file=sys.stderr)
    return 0


def _existing(file: TextIO | None) -> str:
    """Read a key, which is the only line, in UTF-8; a terminal is read up to the end of the line.

    Raises:
        ValueError: there is none, or no client could send it.
    """
    if file is None:
        raise ValueError("standard input is closed")
    max_bytes = 8 * MAX_KEY_CHARACTERS  # with a byte order mark and blanks, which are left out
    try:
        line = file.buffer.readline(max_bytes)
        is_only_one = file.isatty() or len(line) == max_bytes or not file.buffer.read(1)
        key = line.decode("utf-8-sig").strip(" \t\r\n")
    except OSError as error:
        raise ValueError(f"standard input cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("the key is not valid UTF-8") from None
    if not key and len(line) < max_bytes:
        raise ValueError("standard input has no key")
    if len(key) > MAX_KEY_CHARACTERS or len(line) == max_bytes:
        raise ValueError(f"the key has more than {MAX_KEY_CHARACTERS} characters")
    if not is_only_one:
        raise ValueError("standard input has more than one line")
    if not key.isprintable() or " " in key:
        raise ValueError("the key has blanks or characters that cannot be printed")
    if len(key) < MIN_KEY_CHARACTERS:
        raise ValueError(
            f"the key has {len(key)} characters, and needs at least {MIN_KEY_CHARACTERS}, "
            "so that nobody can guess it"
        )
    return key


def _name(name: str) -> str:
    """Check that a name is a bare TOML key, which needs no quotes."""
    if not re.fullmatch("[A-Za-z0-9_-]+", name):
        raise argparse.ArgumentTypeError(
            f"{name!r} has characters other than a to z, 0 to 9, - and _"
        )
    return name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
