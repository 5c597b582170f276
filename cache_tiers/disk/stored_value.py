"""A value in the folder, and the times that its file carries: the last use, and the end of a promise."""

import os
from dataclasses import dataclass
from typing import Final

from cache_tiers.owners.block_key import KEY_BYTES

_LONGEST_SECONDS: Final = 8 * 24 * 3600.0
"""Longest promise. A time further ahead is from a clock that was wrong."""
MARK_SECONDS: Final = 60.0
"""Age of a file's time of use from which a use is written to it. A promise lasts that much longer than it states."""


class ValueId(bytes):
    """Identity of a value: its key, which begins with the owner, and the fingerprint of its model."""

    def parts(self) -> tuple[bytes, bytes]:
        """Return the fingerprint and the key."""
        return self[KEY_BYTES:], self[:KEY_BYTES]


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A value in the folder. Times are seconds since the epoch.

    promised_until: the value must not be evicted before; 0 without a promise.
    """

    used_at: float
    nbytes: int
    promised_until: float = 0.0

    def is_promised(self, now: float) -> bool:
        """Return whether a promise of the value has not ended."""
        return self.promised_until > now

    def used(self, now: float) -> "StoredValue":
        """Return the value after a use. A promise lasts for its whole time again."""
        until = now + self.promised_until - self.used_at if self.is_promised(now) else 0.0
        return StoredValue(now, self.nbytes, until)

    def promised(self, now: float, seconds: float) -> "StoredValue":
        """Return the value with a promise for `seconds` after each use, or for longer if it had one; 0 ends it."""
        if not seconds:
            return StoredValue(now, self.nbytes)
        return StoredValue(now, self.nbytes, max(now + seconds, self.used(now).promised_until))


def stored_value_of(status: os.stat_result, nbytes: int) -> StoredValue:
    """Return the value whose file has this status.

    The time of the last change is that of the last use. A promise ends at the time of the last access, which no use of
    the file sets while it is ahead.
    """
    used_at, until = status.st_mtime, status.st_atime
    return StoredValue(used_at, nbytes, until if used_at < until <= used_at + _LONGEST_SECONDS else 0.0)


def write_times(path: str | int, value: StoredValue) -> None:
    """Write both times to a file or a descriptor, in one step that a crash cannot divide. Raise OSError."""
    os.utime(path, (max(value.promised_until, value.used_at), value.used_at))
