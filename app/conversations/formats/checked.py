"""Values of a file from elsewhere, whose types are checked where they are read. An error names the place."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engine.errors import InvalidRequestError

LATEST_TIME = 1e11
"""Greatest time in Unix seconds. Greater numbers are milliseconds."""

SHOWN_NAME = 80
SHOWN_PLACE = 160
"""Maximum length of a member's name and of a place in an error, in characters. A tree may have thousands of levels."""


def wrong(place: str, problem: str, *, code: str | None = None) -> InvalidRequestError:
    """Build the error for a chat. problem: a sentence, and what its reader can do; the place in the file follows."""
    return InvalidRequestError(f"{problem} ({place})", param=place, code=code)


def malformed(place: str, expected: str) -> InvalidRequestError:
    """Build the error for the value at `place`, which is not the `expected` one."""
    return wrong(place, f"The chat is damaged: one of its values should be {expected}. Export the chat again.")


@dataclass(frozen=True, slots=True)
class Checked:
    """An object of the file. A member that is missing or null counts as empty.

    on_value: called before each element of its lists, and each of its `named` members. An error that it raises ends the
        reading.
    """

    members: dict[str, Any]
    place: str
    on_value: Callable[[], None] = lambda: None

    def has(self, name: str) -> bool:
        """Return whether the member is present and not null."""
        return self.members.get(name) is not None

    def text(self, name: str) -> str:
        """Return a member that is a text. NUL characters, which not every database stores, are removed."""
        value = self.members.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise malformed(self.at(name), "a text")
        return value.replace("\0", "")

    def flag(self, name: str) -> bool:
        """Return a member that is true or false."""
        value = self.members.get(name)
        if value is not None and not isinstance(value, bool):
            raise malformed(self.at(name), "true or false")
        return bool(value)

    def child(self, name: str) -> "Checked":
        """Return a member that is an object."""
        return self._object(self.members.get(name), self.at(name))

    def items(self, name: str) -> list[Any]:
        """Return a member that is a list."""
        value = self.members.get(name)
        if value is not None and not isinstance(value, list):
            raise malformed(self.at(name), "a list")
        return value or []

    def elements(self, name: str) -> Iterator[tuple[int, Any]]:
        """Yield the elements of a list, each with its number."""
        for each in enumerate(self.items(name)):
            self.on_value()
            yield each

    def objects(self, name: str) -> Iterator["Checked"]:
        """Yield the elements of a list of objects."""
        for index, value in self.elements(name):
            yield self._object(value, f"{self.at(name)}[{index}]", required=True)

    def named(self) -> Iterator[tuple[str, "Checked"]]:
        """Yield the members of an object of objects, each with its name."""
        for name, value in self.members.items():
            self.on_value()
            yield name, self._object(value, self.at(name), required=True)

    def seconds(self, name: str) -> float | None:
        """Return a time as Unix seconds, from seconds, milliseconds or a text in ISO 8601."""
        value = self.members.get(name)
        if value is None or value == "":
            return None
        found = _seconds(value)
        if found is None:
            raise malformed(self.at(name), "a time")
        return found

    def at(self, name: str) -> str:
        """Return the place of a member."""
        short = name if len(name) <= SHOWN_NAME else f"{name[:SHOWN_NAME]}…"
        place = self.place if len(self.place) <= SHOWN_PLACE else f"…{self.place[-SHOWN_PLACE:]}"
        return f"{place}.{short}" if short.isidentifier() else f"{place}[{short!r}]"

    def _object(self, value: Any, place: str, *, required: bool = False) -> "Checked":
        if value is None and not required:
            return Checked({}, place, self.on_value)
        if not isinstance(value, dict):
            raise malformed(place, "a JSON object")
        return Checked(value, place, self.on_value)


def _seconds(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            given = datetime.fromisoformat(value)
            value = (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    # Some applications write milliseconds, and some nanoseconds.
    for _ in range(3):
        if value <= LATEST_TIME:
            return float(value)
        value //= 1000
    return None
