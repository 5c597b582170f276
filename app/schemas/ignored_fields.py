"""Unknown fields of a request on a compatible route. They have no effect, and the response names them."""

from typing import Final

MAX_NAMED: Final = 16
"""Fields that are named. Clients choose the names and their number."""
MAX_NAME_LENGTH: Final = 64
"""Length in characters to which a name is cut."""


class IgnoredFields:
    """The names of ignored fields, in the order in which validation met them."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._names: dict[str, None] = {}
        self._is_cut = False

    def add(self, name: str) -> None:
        """Note a field. A field of an object within the body is named after the object's schema."""
        printable = _printable(name[:MAX_NAME_LENGTH])
        if printable in self._names or len(self._names) < MAX_NAMED:
            self._names[printable] = None
        else:
            self._is_cut = True

    def __bool__(self) -> bool:
        """Return whether a field was ignored."""
        return bool(self._names)

    def __str__(self) -> str:
        """List the names for a header or a log line."""
        return ", ".join([*self._names, *(["..."] if self._is_cut else [])])


def _printable(name: str) -> str:
    """Replace characters that a header may not have, and the comma between names."""
    return "".join(char if "!" <= char <= "~" and char != "," else "?" for char in name)
