"""Servers on one database, and their leases.

A server renews its lease every second. Each run has an owner, the server that works on it, and an epoch, the number of
servers that took it over before. A run whose owner has no lease any more may be taken over, which raises the epoch.
Every write of a run names the writer and the epoch, so a server that has lost a run without knowing it writes nothing.

All times are those of the database, so the clocks of the servers need not agree. A file has one server, which needs no
lease.
"""

from dataclasses import dataclass
from typing import Final

from app.storage.connection import Connection
from app.storage.database import Database
from app.storage.dialect import Dialect
from app.storage.errors import UnusableDatabaseError

RELEASED: Final = "released"
"""Topic of the notice that a server has ended its lease, or left runs to the others."""

LEASE_SECONDS: Final = 4.0
FORGET_SECONDS: Final = 3600.0
"""Time after its lease for which a server that ended without notice is remembered."""


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run that a server works on, as the database has it."""

    epoch: int
    is_cancelled: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """A server among the others when it renewed its lease.

    leads: whether the server does the work that one of them does for all.
    is_alone: whether no other server has a lease.
    runs: the runs that the server owns, by id.
    """

    leads: bool
    is_alone: bool
    runs: dict[str, HeldRun]


class ServerStore:
    """The lease of this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secret = b""

    async def begin(self, former: str | None, secret: bytes) -> Standing:
        """Take the first lease, and return the standing of this server.

        former: the server that this process replaces, whose runs are free from now on; None for no server.
        secret: digest of the secret file. Raises UnusableDatabaseError if another server has another secret.
        """
        self._secret = secret

        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM server WHERE id = ?", (former,))
            live = f"SELECT secret FROM server WHERE lease_until > {connection.dialect.now}"
            if any(row["secret"] != secret for row in connection.fetch_all(live)):
                raise UnusableDatabaseError(
                    "Another server on this database has another secret file, so neither could read what the other "
                    "sealed: copy its file, and name it with --secret-file"
                )

        await self._database.write(write)
        return await self.renew()

    async def renew(self) -> Standing:
        """Extend the lease by LEASE_SECONDS from now, and return the standing of this server."""
        server = self._database.server

        def write(connection: Connection) -> Standing:
            now = connection.dialect.now
            _renew(connection, server, self._secret)
            connection.execute(f"DELETE FROM server WHERE lease_until < {now} - ?", (FORGET_SECONDS,))
            live = connection.fetch_all(f"SELECT id FROM server WHERE lease_until > {now} ORDER BY number")
            runs = connection.fetch_all("SELECT id, epoch, is_cancelled FROM run WHERE owner = ?", (server,))
            held = {row["id"]: HeldRun(row["epoch"], bool(row["is_cancelled"])) for row in runs}
            return Standing(live[0]["id"] == server, len(live) == 1, held)

        return await self._database.write(write, durable=False)

    async def release(self) -> None:
        """End the lease, so that other servers take over the runs at once."""
        server = self._database.server

        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM server WHERE id = ?", (server,))
            connection.notify(RELEASED, "")

        await self._database.write(write)


def has_no_owner(dialect: Dialect) -> str:
    """Return the condition for a row of `run` whose owner has no lease."""
    return f"owner NOT IN (SELECT id FROM server WHERE lease_until > {dialect.now})"


def _renew(connection: Connection, server: str, secret: bytes) -> None:
    connection.execute(
        f"INSERT INTO server(id, lease_until, secret) VALUES (?, {connection.dialect.now} + ?, ?) "
        "ON CONFLICT(id) DO UPDATE SET lease_until = excluded.lease_until",
        (server, LEASE_SECONDS, secret),
    )
