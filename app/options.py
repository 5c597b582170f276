"""What a user can say, one name at a time: how it is written, parsed and explained, and what is wrong with it."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from app.sizes import parse_size
from engine.errors import EbbError

ENV_PREFIX = "EBB_"


class SettingsError(EbbError):
    """A setting is unknown or its value is not usable; the message names it the way the user wrote it."""

    code = "invalid_setting"


@dataclass(frozen=True, slots=True)
class Option:
    """One flag `--name`; of a setting also the variable EBB_NAME and the TOML key `name`.

    `parse` raises ValueError with what is wrong. metavar: empty for a switch, which takes no value.
    """

    name: str
    parse: Callable[[str], object]
    metavar: str
    help: str

    @property
    def field_name(self) -> str:
        """Where its value is kept."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return ENV_PREFIX + self.name.replace("-", "_").upper()


def parse_option(option: Option, text: str, where: str) -> tuple[str, object]:
    """(field, value) of what was written `where`. Raises SettingsError, which repeats where."""
    try:
        return option.field_name, option.parse(text)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}", param=option.name) from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the known name nearest to `name`, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def any_text(text: str) -> str:
    """Any text but none."""
    if not text:
        raise ValueError("is empty")
    return text


def any_path(text: str) -> Path:
    """A path, from here or from a home directory."""
    return Path(any_text(text)).expanduser().absolute()


def integer(low: int, high: int) -> Callable[[str], int]:
    """From `low` to `high`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if not low <= value <= high:
            raise ValueError(f"{value} is not between {low} and {high}")
        return value

    return parse


def size_from(low: int) -> Callable[[str], int]:
    """A size such as 2GiB, in bytes, at least `low`."""

    def parse(text: str) -> int:
        value = parse_size(text)
        if value < low:
            raise ValueError(f"{text} is too small; at least {low} bytes are needed")
        return value

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """One of these words."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return parse


def switch(text: str) -> bool:
    """True or false, in the words that people use."""
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")
