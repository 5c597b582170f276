"""Values of a file from elsewhere, whose types are checked where they are read."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from engine.api.errors import InvalidRequestError

T = TypeVar("T")

LATEST_TIME = 1e11
"""Greatest time in Unix seconds. Greater numbers are milliseconds."""

LeftOut = Literal["tools", "media", "files", "system", "failed", "other"]
"""Kinds of messages, or of their parts, that an import leaves out.

tools: calls of tools and their results. media: images, audio and video. files: attached files without text.
system: messages that the application hides from its reader. failed: errors. other: anything else, and damaged parts.
"""


def wrong(place: str, problem: str, *, code: str | None = None) -> InvalidRequestError:
    """Build the error for a chat. problem: a sentence, and what its reader can do; the place in the file follows."""
    return InvalidRequestError(f"{problem} ({place})", param=place, code=code)


@dataclass(frozen=True, slots=True)
class Checked:
    """An object of the file. A member that is missing or null counts as empty, and so does one of another type.

    on_value: called before each element of its lists, and each of its `named` members. An error that it raises ends the
        reading.
    left_out: number of parts that are left out of the conversation. Members of another type count as `other`.
    """

    members: dict[str, Any]
    on_value: Callable[[], None] = lambda: None
    left_out: Counter[LeftOut] = field(default_factory=Counter)

    def has(self, name: str) -> bool:
        """Return whether the member is present and not null."""
        return self.members.get(name) is not None

    def text(self, name: str) -> str:
        """Return a member that is a text. NUL characters, which not every database stores, are removed."""
        return (self._member(name, str) or "").replace("\0", "")

    def flag(self, name: str) -> bool:
        """Return a member that is true or false."""
        return bool(self._member(name, bool))

    def child(self, name: str) -> "Checked":
        """Return a member that is an object."""
        return self._object(self._member(name, dict) or {})

    def items(self, name: str) -> list[Any]:
        """Return a member that is a list."""
        return self._member(name, list) or []

    def elements(self, name: str) -> Iterator[Any]:
        """Yield the elements of a list."""
        for each in self.items(name):
            self.on_value()
            yield each

    def objects(self, name: str) -> Iterator["Checked"]:
        """Yield the elements of a list of objects. Others are left out."""
        for value in self.elements(name):
            if isinstance(value, dict):
                yield self._object(value)
            else:
                self.left_out["other"] += 1

    def named(self) -> Iterator[tuple[str, "Checked"]]:
        """Yield the members of an object of objects, each with its name. One that is no object is an empty one."""
        for name, value in self.members.items():
            self.on_value()
            self.left_out["other"] += not isinstance(value, dict)
            yield name, self._object(value if isinstance(value, dict) else {})

    def seconds(self, name: str) -> float | None:
        """Return a time as Unix seconds, from seconds, milliseconds or a text in ISO 8601."""
        value = self.members.get(name)
        if value is None or value == "":
            return None
        found = _seconds(value)
        if found is None:
            self.leave_out(name)
        return found

    def leave_out(self, name: str, kind: LeftOut = "other") -> None:
        """Count a member as left out, once however often it is read."""
        self.members[name] = None
        self.left_out[kind] += 1

    def _member(self, name: str, kind: type[T]) -> T | None:
        value = self.members.get(name)
        if isinstance(value, kind):
            return value
        if value is not None:
            self.leave_out(name)
        return None

    def _object(self, members: dict[str, Any]) -> "Checked":
        return Checked(members, self.on_value, self.left_out)


def _seconds(value: Any) -> float | None:
    if isinstance(value, str):
        value = _number(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    # Some applications write milliseconds, and some microseconds. A larger whole number may be beyond all floats.
    if value > LATEST_TIME * 1e6:
        return None
    while value > LATEST_TIME:
        value /= 1000
    return float(value)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        given = datetime.fromisoformat(text)
        return (given if given.tzinfo is not None else given.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
