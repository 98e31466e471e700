"""The operator's settings, from environment variables and command-line options."""

import os
import re
from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from service.engine.process_memory import resident_bytes
from service.models.settings import ModelSettings, split

PREFIX = "ATTENDANT_"
MIN_CONNECTIONS = 4
"""With fewer, none would be reserved for health checks, and two clients would keep closing each other's."""
_BY_KUBERNETES = re.compile(f"{PREFIX}(SERVICE|PORT_[0-9])")
"""Variables that Kubernetes sets in every container if a Service is called attendant."""
_ORIGIN = re.compile(
    r"(?!https://\S*:443\Z|http://\S*:80\Z)"
    r"[a-z][a-z0-9+.-]*://"
    r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])"  # a name, or an IPv4 or IPv6 address
    r"(:[0-9]{1,5})?"
)
"""An origin as browsers send it: in lower case, without the default port, a path or a trailing slash."""

NONE = "none"
EVERY_IPV4, EVERY_IPV6 = "0.0.0.0", "::"

_WORDS = {int: "N", float: "SECONDS", str: "VALUE", Path: "PATH", Path | None: "PATH"}
"""Placeholders for values in `--help`, by type."""


def _check_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    """Check each, and add what `::` includes elsewhere: a socket of asyncio has one family only."""
    for host in hosts:
        try:
            host.encode("idna")
        except UnicodeError:
            raise ValueError(f"{host!r} is no host name and no IP address") from None
    return tuple(dict.fromkeys([*hosts, *([EVERY_IPV4] if EVERY_IPV6 in hosts else [])]))


def _check_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    if origins == (NONE,):
        return ()
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValueError(
                f"{origin!r} is not an origin: use https://host, https://host:port if that is not the "
                f"default port, * or {NONE} alone"
            )
    return origins


def _check_proxies(proxies: str) -> str:
    """Check each address, because uvicorn silently ignores invalid ones."""
    entries = [entry.strip() for entry in proxies.split(",") if entry.strip()]
    if entries == ["*"]:
        return "*"
    for entry in entries:
        try:
            ip_network(entry)
        except ValueError as error:
            expected = "an IP address, a network as in 10.0.0.0/8, or * alone"
            raise ValueError(f"{entry!r} is not {expected} ({error})") from None
    return ",".join(entries)


class Settings(ModelSettings):
    """The translation service. Every option may also come from the environment: --port as ATTENDANT_PORT."""

    model_config = SettingsConfigDict(frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read variables in capital letters only: pydantic would let `attendant_port` override them."""
        given = {name: os.environ.get(f"{PREFIX}{name.upper()}") for name in cls.model_fields}
        environment = {name: value for name, value in given.items() if value}
        return init_settings, InitSettingsSource(settings_cls, environment)

    @classmethod
    def from_command_line(cls, arguments: Sequence[str]) -> Self:
        """Read options such as `--max-beam-size 4`, then the environment; empty values count as unset.

        Raises:
            ValidationError: a value is invalid.
            SystemExit: an option is unknown, or `--help` was given.
        """
        values: dict[str, Any] = vars(_parser(cls).parse_args(arguments))
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = ",".join(value)
        return cls(**{name: value for name, value in values.items() if value != ""})

    host: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(split),
        AfterValidator(_check_hosts),
        Field(
            min_length=1,
            description="Addresses to listen on, separated by commas; 0.0.0.0 for every interface, :: for "
            "every interface with IPv6 as well as IPv4.",
        ),
    ] = ("127.0.0.1",)
    port: Annotated[
        int,
        Field(
            ge=0, le=65535, description="Port to listen on; 0 takes a free one for each address."
        ),
    ] = 8000
    max_requests: Annotated[
        int,
        Field(
            ge=1,
            le=100_000,
            description="Requests in flight, beyond which new ones get 429 before their text is read.",
        ),
    ] = 512
    max_connections: Annotated[
        int,
        Field(
            ge=MIN_CONNECTIONS,
            le=1_000_000,
            description="Maximum open connections, beyond which the longest-idle one is closed; capped by "
            "the open-file limit.",
        ),
    ] = 1000
    max_body_bytes: Annotated[
        int,
        Field(
            ge=1,
            le=33_554_432,
            description="Size of a request's body, beyond which it gets 413.",
        ),
    ] = 1_048_576
    max_held_body_bytes: Annotated[
        int,
        Field(
            ge=1,
            le=68_719_476_736,
            description="Total size of request bodies in memory, beyond which bodies over 16 KiB get 429.",
        ),
    ] = 67_108_864
    max_held_answer_bytes: Annotated[
        int,
        Field(
            ge=1,
            le=68_719_476_736,
            description="Total size of answers that clients have yet to read, beyond which those that have "
            "waited for 1 s are cut off, the largest and oldest first; a single answer may be larger.",
        ),
    ] = 67_108_864
    max_header_bytes: Annotated[
        int,
        Field(
            ge=1024,
            le=1_048_576,
            description="Size of a request's address, beyond which it gets 414, and of its header fields, "
            "beyond which it gets 431.",
        ),
    ] = 65_536
    request_timeout_seconds: Annotated[
        float,
        Field(
            gt=0,
            le=86_400,
            allow_inf_nan=False,
            description="Deadline of a request, after which it gets 504; none may ask for a longer one.",
        ),
    ] = 60.0
    api_keys: Annotated[
        Path | None,
        Field(
            description="TOML file of API keys, made by attendant keys; without it, keys are ignored."
        ),
    ] = None
    key_required: Annotated[
        bool,
        Field(description="Whether a request without a key gets 401; needs ATTENDANT_API_KEYS."),
    ] = False
    requests_per_minute: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="Requests per minute that one address (for IPv6, one /64 network) may send without a "
            "key, beyond which it gets 429; 0 means no limit.",
        ),
    ] = 0
    cors_origins: Annotated[
        tuple[str, ...],
        NoDecode,
        BeforeValidator(split),
        AfterValidator(_check_origins),
        Field(
            description="Origins whose web pages may call the service, separated by commas; * means any, "
            "none means no page of another origin."
        ),
    ] = ("*",)
    trusted_proxies: Annotated[
        str,
        AfterValidator(_check_proxies),
        Field(
            description="Addresses whose X-Forwarded-For and -Proto are trusted, separated by commas."
        ),
    ] = ""
    docs: Annotated[bool, Field(description="Whether /docs and the schema are served.")] = True
    stop_delay_seconds: Annotated[
        float,
        Field(
            ge=0,
            le=3600,
            allow_inf_nan=False,
            description="How long the service keeps serving after SIGTERM while it reports that it is not "
            "ready, so that proxies stop sending requests.",
        ),
    ] = 0.0
    drain_seconds: Annotated[
        float,
        Field(
            ge=0,
            le=3600,
            allow_inf_nan=False,
            description="How long running requests may take to finish after SIGTERM.",
        ),
    ] = 60.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="Least severe level that is logged."),
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"],
        Field(
            description="Plain text, or one JSON object per line; neither contains text from requests."
        ),
    ] = "text"
    tracing: Annotated[
        bool,
        Field(
            description="Whether requests are traced by OpenTelemetry, to OTEL_EXPORTER_OTLP_ENDPOINT; "
            "needs the extra tracing."
        ),
    ] = False

    @model_validator(mode="after")
    def _keys_are_there(self) -> Self:
        if self.key_required and self.api_keys is None:
            raise ValueError(
                "--key-required, ATTENDANT_KEY_REQUIRED needs ATTENDANT_API_KEYS, a file of keys"
            )
        return self


def default_of(name: str, field: FieldInfo) -> str:
    """Return the default of a setting as shown to operators; for the bundle, not a path of this machine."""
    if name == "bundle":
        return "the bundled model"
    default: Any = field.default
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ",".join(default) or NONE
    if default in (None, ""):
        return NONE
    return f"{default:g}" if isinstance(default, float) else str(default)


def _parser(settings: type[Settings]) -> ArgumentParser:
    """Build a parser with an option for each setting; options not given are absent from its result."""
    parser = ArgumentParser(
        prog="attendant serve",
        description=settings.__doc__,
        allow_abbrev=False,
        argument_default=SUPPRESS,
    )
    for name, field in settings.model_fields.items():
        option = f"--{name.replace('_', '-')}"
        text = f"{field.description} (default: {default_of(name, field)})".replace("%", "%%")
        annotation: Any = field.annotation
        if annotation is bool:
            parser.add_argument(option, action=BooleanOptionalAction, help=text)
        elif get_origin(annotation) is tuple:
            parser.add_argument(
                option, action="append", metavar=f"{_WORDS[get_args(annotation)[0]]},...", help=text
            )
        elif get_origin(annotation) is Literal:
            parser.add_argument(option, metavar=f"{{{','.join(get_args(annotation))}}}", help=text)
        else:
            parser.add_argument(option, metavar=_WORDS[annotation], help=text)
    return parser


def misspelt(environment: Mapping[str, str]) -> list[str]:
    """Return a warning for each environment variable that looks like a misspelt setting."""
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    warnings = []
    for name in sorted(environment):
        capitals = name.upper()
        if capitals.startswith(PREFIX) and name not in known and not _BY_KUBERNETES.match(name):
            nearest = get_close_matches(capitals, known, n=1, cutoff=0.8)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            warnings.append(f"{name} is not a setting and has no effect{hint}")
    return warnings


def doubtful(settings: Settings) -> list[str]:
    """Return warnings about combinations of settings that are valid, but probably unintended."""
    warnings = []
    drain, timeout = settings.drain_seconds, settings.request_timeout_seconds
    if drain < timeout:
        warnings.append(
            f"ATTENDANT_DRAIN_SECONDS = {drain:g} is shorter than ATTENDANT_REQUEST_TIMEOUT_SECONDS = "
            f"{timeout:g}: requests that are still in time are cut off after SIGTERM"
        )
    if settings.bundles is None:
        names = ("preload", "max_memory_mb", "model_idle_seconds")
        warnings += [
            f"{PREFIX}{name.upper()} changes nothing without ATTENDANT_BUNDLES"
            for name in names
            if getattr(settings, name)
        ]
    elif settings.max_memory_mb and resident_bytes() is None:
        warnings.append(
            "ATTENDANT_MAX_MEMORY_MB changes nothing: this system does not tell as Linux does"
        )
    return warnings
