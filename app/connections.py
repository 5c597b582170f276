"""Connections of a server, bounded in number: all of them, and those of each address.

A connection is idle while the server answers no request of it. Above the bound, the connection that has been idle for
the longest time is closed, so that idle connections never keep a new client out. A request that arrives while too many
others are being answered is refused with a time to come back. Addresses of this machine have no bound of their own,
since a proxy here brings clients from everywhere.
"""

import logging
import resource
from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv6Network, ip_address
from typing import Final, Protocol

from app.config import Settings
from engine.errors import EbbError, NotReadyError, OverloadedError

MOST_CONNECTIONS: Final = 8192
"""Default bound where the system allows more files than that."""

RESERVED_FILES: Final = 256
"""File descriptors for the database, Redis, the model, logs, and refusals under way."""

SPARE_CONNECTIONS: Final = 64
"""Connections above the bound that may be refused in words; those above are cut."""

RETRY_SECONDS: Final = 2
"""Time after which one of many requests may have been answered."""

logger = logging.getLogger(__name__)


class ServerFullError(NotReadyError):
    """503: the server is answering as many requests as it has connections for."""

    code = "too_many_connections"


class AddressFullError(OverloadedError):
    """429: the server is answering as many requests of one address as it takes from it."""

    code = "too_many_connections"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds on open connections."""

    total: int
    """Of all addresses together."""

    per_address: int
    """Of one address; of one network of 64 bits where it is IPv6."""


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Derive what `settings` leave open from the number of files that the process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = files - min(RESERVED_FILES, files // 2)
    total = settings.max_connections or min(room, MOST_CONNECTIONS)
    if total > room:
        logger.warning(
            "--max-connections %d needs ulimit -n %d or more; with the limit of %d there is room for %d",
            total,
            total + RESERVED_FILES,
            files,
            room,
        )
        total = room
    return ConnectionLimits(total, settings.max_connections_per_address or max(1, total // 4))


class Connection(Protocol):
    """One connection, as far as its place among the others is concerned."""

    @property
    def peer(self) -> str | None:
        """Address of the other end; None if it has none."""

    def cut(self) -> None:
        """Close the connection at once, whatever is still to be sent."""


class Connections:
    """Owner of the list of open connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        # Both in the order in which connections became idle.
        self._idle: dict[Connection, None] = {}
        self._idle_of: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._busy: set[Connection] = set()
        self._busy_of: defaultdict[str, int] = defaultdict(int)

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    @property
    def busy(self) -> int:
        """Number of connections of which a request is being answered."""
        return len(self._busy)

    def opened(self, connection: Connection) -> None:
        """Add a new connection. Idle ones are cut for it if there are too many."""
        self._add_idle(connection)
        group = _group(connection)
        if group is not None and self._count_of(group) > self.limits.per_address:
            self._cut_oldest(self._idle_of[group], spare=connection)
        if len(self) > self.limits.total:
            self._cut_oldest(self._idle, spare=connection)
        if len(self) > self.limits.total + SPARE_CONNECTIONS:
            self._cut(connection)

    def asked(self, connection: Connection) -> EbbError | None:
        """Note that a request of `connection` is answered from now on; returns a refusal to answer it with, if any."""
        group = _group(connection)
        if connection in self._idle:
            self._remove_idle(connection)
            self._busy.add(connection)
            if group is not None:
                self._busy_of[group] += 1
        if len(self._busy) > self.limits.total:
            return ServerFullError(
                f"This server answers {self.limits.total} requests at once, and all of them are taken. "
                f"Retry in {RETRY_SECONDS} s."
            )
        if group is not None and self._busy_of.get(group, 0) > self.limits.per_address:
            return AddressFullError(
                f"This server answers {self.limits.per_address} requests of one address at once, and all of them are "
                f"taken. Retry in {RETRY_SECONDS} s.",
                retry_after=RETRY_SECONDS,
            )
        return None

    def answered(self, connection: Connection) -> None:
        """Note that `connection` is idle again."""
        if connection in self._busy:
            self._remove_busy(connection)
            self._add_idle(connection)

    def closed(self, connection: Connection) -> None:
        """Forget a connection. One that is not listed any more was cut."""
        if connection in self._busy:
            self._remove_busy(connection)
        elif connection in self._idle:
            self._remove_idle(connection)

    def check(self) -> None:
        """Assert that each connection is counted once, and each address as often as it has connections."""
        groups = [_group(each) for each in self._idle]
        assert not self._busy & self._idle.keys()
        assert sum(map(len, self._idle_of.values())) == sum(group is not None for group in groups)
        busy = [group for each in self._busy if (group := _group(each)) is not None]
        assert self._busy_of == {group: busy.count(group) for group in busy}

    def _count_of(self, group: str) -> int:
        return len(self._idle_of[group]) + self._busy_of.get(group, 0)

    def _cut_oldest(self, idle: dict[Connection, None], *, spare: Connection) -> None:
        oldest = next(iter(idle))
        if oldest is not spare:
            self._cut(oldest)

    def _cut(self, connection: Connection) -> None:
        # Now and not when the loop gets to it: others are accepted in the same turn.
        self._remove_idle(connection)
        connection.cut()

    def _add_idle(self, connection: Connection) -> None:
        self._idle[connection] = None
        if (group := _group(connection)) is not None:
            self._idle_of[group][connection] = None

    def _remove_idle(self, connection: Connection) -> None:
        del self._idle[connection]
        if (group := _group(connection)) is not None:
            del self._idle_of[group][connection]
            if not self._idle_of[group]:
                del self._idle_of[group]

    def _remove_busy(self, connection: Connection) -> None:
        self._busy.remove(connection)
        if (group := _group(connection)) is not None:
            self._busy_of[group] -= 1
            if not self._busy_of[group]:
                del self._busy_of[group]


def _group(connection: Connection) -> str | None:
    """Name the network that `connection` is counted for; None on this machine."""
    try:
        address = ip_address(connection.peer or "")
    except ValueError:
        return None
    if address.version == 6 and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return None
    return str(address) if address.version == 4 else str(IPv6Network((int(address) >> 64 << 64, 64)))
