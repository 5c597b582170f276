"""Options of the command line, the environment and TOML files: names, parsers, help and errors."""

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field
from pathlib import Path
from typing import Any

from app.config.sizes import parse_size
from engine.api.errors import EbbError

ENV_PREFIX = "EBB_"
_LINK = re.compile(r"\[(.+?)\]\(.+?\)")


class SettingsError(EbbError):
    """A setting is unknown or its value is invalid. The message names the setting as the user wrote it."""

    code = "invalid_setting"


@dataclass(frozen=True, slots=True)
class Option:
    """One flag `--name`. A setting also has the variable EBB_NAME and the TOML key `name`.

    parse: parses the text of the value. Raises ValueError with the reason.
    metavar: placeholder in the help; empty for a switch, which takes no value.
    text: description, in Markdown; its links start from the folder docs.
    default_text: the default as a reader should see it, in Markdown; empty if `text` says it.
    """

    name: str
    parse: Callable[[str], object]
    metavar: str
    text: str
    default_text: str = ""

    @property
    def field_name(self) -> str:
        """Name of the dataclass field that holds the value."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """Name of the environment variable."""
        return ENV_PREFIX + self.name.replace("-", "_").upper()

    @property
    def help(self) -> str:
        """Description for a terminal, with the default of an option that takes a value."""
        default = f" (default {self.default_text})" if self.default_text and self.metavar else ""
        return _LINK.sub(r"\1", self.text + default).replace("`", "")


def setting(
    default: Any, parse: Callable[[str], object], metavar: str, text: str, default_text: str = "", **of_field: Any
) -> Any:
    """Declare a setting as a dataclass field. `parse`, `metavar` and `text` are those of its `Option`.

    default: MISSING if `load_settings` derives it, or if `of_field` has a `default_factory`.
    default_text: the default for readers; by default the value itself.
    of_field: further arguments of `dataclasses.field`, such as `repr=False` for a value that may hold a password.
    """
    value = str(default).lower() if isinstance(default, bool) else default
    metadata = {"parse": parse, "metavar": metavar, "text": text, "default_text": default_text or f"`{value}`"}
    return field(default=default, metadata=metadata, **of_field)


def option_of(declared: Field[Any]) -> Option:
    """Return the option of a setting that `setting` declared."""
    return Option(declared.name.replace("_", "-"), **declared.metadata)


def parse_option(option: Option, text: str, where: str) -> tuple[str, object]:
    """Parse an option's text and return (field name, value). `where` locates the text in a SettingsError."""
    try:
        return option.field_name, option.parse(text)
    except ValueError as error:
        raise SettingsError(f"{where}: {error}", param=option.name) from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the known name closest to `name`, or an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def any_text(text: str) -> str:
    """Return `text`. Raise ValueError if it is empty."""
    if not text:
        raise ValueError("must not be empty")
    return text


def any_path(text: str) -> Path:
    """Parse a path, relative to the working directory or a home directory, into an absolute one."""
    return Path(any_text(text)).expanduser().absolute()


def integer(low: int, high: int) -> Callable[[str], int]:
    """Make a parser of whole numbers from `low` to `high`."""

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
    """Make a parser of sizes such as 2GiB. The parser returns bytes, at least `low`."""

    def parse(text: str) -> int:
        value = parse_size(text)
        if value < low:
            raise ValueError(f"{text} is too small; at least {low} bytes are needed")
        return value

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """Make a parser that accepts only `choices`."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return parse


def switch(text: str) -> bool:
    """Parse true or false, in any of their common spellings. Raise ValueError."""
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")
