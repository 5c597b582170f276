"""Limits on the connections of a server, in total and per address.

A connection is idle while it has no request in progress. Above the limit, the connection that has been idle the longest
is closed, so that idle connections never keep out a new client. A request that arrives while too many others are in
progress is refused with a time to retry. Addresses of this machine have no limit per address, because a local proxy
forwards requests from many clients.
"""

import logging
import resource
from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, Protocol

from app.config.settings import Settings
from engine.api.errors import EbbError, NotReadyError, OverloadedError


def network_of(peer: str | None) -> str:
    """Return the IPv4 address or the IPv6 /64 network of a client; "" if it has no address.

    peer: address of the client; None if it has none.
    """
    address = _address(peer)
    if address is None:
        return ""
    return str(address) if address.version == 4 else str(IPv6Network((int(address) >> 64 << 64, 64)))


def is_local(peer: str | None) -> bool:
    """Return whether a client has an address of this machine, from which a proxy forwards other clients' requests."""
    address = _address(peer)
    return address is not None and address.is_loopback


def _address(peer: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(peer or "")
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


MAX_CONNECTIONS: Final = 8192
"""Default limit if the system allows more open files than that."""

RESERVED_FILES: Final = 256
"""File descriptors for the database, Redis, the model, logs, and refusals in progress."""

SPARE_CONNECTIONS: Final = 64
"""Connections above the limit that receive an error response. Any beyond those are cut."""

RETRY_SECONDS: Final = 2
"""Seconds after which one of many requests has probably been answered."""

logger = logging.getLogger(__name__)


class ServerFullError(NotReadyError):
    """503: the server is answering as many requests as it has connections for."""

    code = "too_many_connections"


class AddressFullError(OverloadedError):
    """429: the server is answering as many requests of one address as it takes from it."""

    code = "too_many_connections"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on open connections."""

    total: int
    """Maximum number of connections of all addresses together."""

    per_address: int
    """Maximum number of connections of one IPv4 address or IPv6 /64 network."""


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Return the connection limits. Limits that `settings` leave unset follow from the process's open-file limit."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = files - min(RESERVED_FILES, files // 2)
    total = settings.max_connections or min(room, MAX_CONNECTIONS)
    if total > room:
        logger.warning(
            "--max-connections %d needs ulimit -n %d or more; the current limit of %d leaves room for %d connections",
            total,
            total + RESERVED_FILES,
            files,
            room,
        )
        total = room
    return ConnectionLimits(total, settings.max_connections_per_address or max(1, total // 4))


class Connection(Protocol):
    """Interface of a connection that `Connections` counts and may cut."""

    @property
    def peer(self) -> str | None:
        """Address of the client; None if it has none."""

    def cut(self) -> None:
        """Close the connection at once, and discard any unsent data."""


class Connections:
    """Open connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        # Connections in the order in which they became idle, in total and per group.
        self._idle: dict[Connection, None] = {}
        self._idle_of: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._busy: set[Connection] = set()
        self._busy_of: defaultdict[str, int] = defaultdict(int)

    def __len__(self) -> int:
        return len(self._idle) + len(self._busy)

    @property
    def busy(self) -> int:
        """Number of connections with a request in progress."""
        return len(self._busy)

    def on_open(self, connection: Connection) -> None:
        """Add a new connection, and cut the oldest idle ones if a limit is exceeded."""
        self._add_idle(connection)
        group = _group(connection)
        if group is not None and self._count_of(group) > self.limits.per_address:
            self._cut_oldest(self._idle_of[group], spare=connection)
        # Connections that became idle since the last one opened make room now. Until then a client may reuse them.
        while len(self) > self.limits.total and next(iter(self._idle)) is not connection:
            self._cut(next(iter(self._idle)))
        if len(self) > self.limits.total + SPARE_CONNECTIONS:
            self._cut(connection)

    def on_request(self, connection: Connection) -> EbbError | None:
        """Mark `connection` as busy with a request, and return the error to refuse the request with.

        Returns None if the request may proceed.
        """
        group = _group(connection)
        if connection in self._idle:
            self._remove_idle(connection)
            self._busy.add(connection)
            if group is not None:
                self._busy_of[group] += 1
        if len(self._busy) > self.limits.total:
            return ServerFullError(
                f"Request limit reached: this server answers {self.limits.total} requests at once. Retry in "
                f"{RETRY_SECONDS} s."
            )
        if group is not None and self._busy_of.get(group, 0) > self.limits.per_address:
            return AddressFullError(
                f"Request limit reached: this server answers {self.limits.per_address} requests of one address at "
                f"once. Retry in {RETRY_SECONDS} s.",
                retry_after=RETRY_SECONDS,
            )
        return None

    def on_response(self, connection: Connection) -> None:
        """Mark `connection` as idle again."""
        if connection in self._busy:
            self._remove_busy(connection)
            self._add_idle(connection)

    def on_close(self, connection: Connection) -> None:
        """Remove a closed connection. Has no effect on one that was cut, because it is already removed."""
        if connection in self._busy:
            self._remove_busy(connection)
        elif connection in self._idle:
            self._remove_idle(connection)

    def check(self) -> None:
        """Assert that each connection is counted once, both in total and for its address."""
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
        # Remove the connection now: more may be accepted before the loop calls `connection_lost`.
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
    """Return the address or network that `connection` counts towards; None if it comes from this machine."""
    return None if is_local(connection.peer) else network_of(connection.peer) or None
