"""Range checks of configurations. Each message names the key, the value and the limit."""


class ConfigError(ValueError):
    """An invalid configuration. The message names the key, the value and the limit."""


def require(condition: bool, message: str) -> None:
    """Raise a ConfigError with this message unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def one_of(section: object, name: str, **choices: tuple[str, ...]) -> None:
    """Require that each key has one of its allowed values."""
    for key, allowed in choices.items():
        value = getattr(section, key)
        require(
            value in allowed,
            f"{name}.{key} = {value!r} must be one of {', '.join(sorted(allowed))}",
        )


def at_least(limit: int, section: object, name: str, *keys: str) -> None:
    """Require that each of these keys is at least `limit`."""
    for key in keys:
        value = getattr(section, key)
        require(value >= limit, f"{name}.{key} = {value} must be at least {limit}")


def above_0(section: object, name: str, *keys: str) -> None:
    """Require that each of these keys is positive."""
    for key in keys:
        value = getattr(section, key)
        require(value > 0, f"{name}.{key} = {value} must be above 0")


def share(section: object, name: str, *keys: str) -> None:
    """Require that each of these keys is in [0, 1)."""
    for key in keys:
        value = getattr(section, key)
        require(0 <= value < 1, f"{name}.{key} = {value} must be in [0, 1)")
