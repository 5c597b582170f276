"""The number of API keys in a database, as processes other than the server read it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """The number of keys in a database.

    made: keys ever created, including revoked ones.
    valid: keys that are not revoked.
    """

    made: int
    valid: int
