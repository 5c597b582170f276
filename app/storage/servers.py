"""Servers on one database, and their leases.

A server renews its lease every second. Each run has an owner, the server that works on it, and an epoch, the number of
servers that took it over before. A run whose owner has no lease any more may be taken over, which raises the epoch.
Every write of a run names the writer and the epoch, so a server that has lost a run without knowing it writes nothing.

Renewals are counted, and no lease depends on the time of any clock. A server that has seen the same number for
LEASE_SECONDS (`app.runs.lease`) ends the lease, unless the number has changed by then. The row of a server that
ended without notice stays as long as it owns runs. A file has one server, which needs no lease, and no row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.errors import UnusableDatabaseError

NOTHING: Final[Mapping[str, int]] = MappingProxyType({})

RELEASED: Final = "released"
"""Topic of the notice that a server has ended its lease, or left runs to the others."""

LEASE_SECONDS: Final = 4.0

LIVE: Final = "SELECT id FROM server WHERE is_live"
"""Query for the servers that have a lease."""

IS_LEFT: Final = f"owner <> ? AND owner NOT IN ({LIVE})"
"""Condition for a row of `run` or `due_title` whose owner has no lease and is not the server of the parameter."""


class OtherSecretError(UnusableDatabaseError):
    """Servers on the database have another secret file.

    renewals: number of renewals of each of them, by server.
    """

    def __init__(self, renewals: Mapping[str, int]) -> None:
        super().__init__(
            "Another server on this database has another secret file, so neither could read what the other sealed: "
            "copy its file, and name it with --secret-file"
        )
        self.renewals = renewals


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run that a server works on, as the database has it."""

    epoch: int
    is_cancelled: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """A server among the others when it renewed its lease.

    leads: whether the server does the work that one of them does for all.
    others: numbers of renewals of the other servers that have a lease.
    others_ready: whether one of them takes over runs at once.
    runs: the runs that the server owns, by id.
    is_work_left: whether a server that has ended left runs or titles.
    """

    leads: bool
    others: dict[str, int]
    others_ready: bool
    runs: dict[str, HeldRun]
    is_work_left: bool


class ServerStore:
    """The lease of this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secret = b""

    async def begin(
        self, former: str | None, secret: bytes, *, is_ready: bool = False, expired: Mapping[str, int] = NOTHING
    ) -> Standing:
        """Take the first lease, and return the standing of this server.

        former: the server that this process replaces, whose runs are free from now on; None for no server.
        secret: digest of the secret file.
        is_ready, expired: as in `renew`.

        Raise OtherSecretError if another server has another secret.
        """
        self._secret = secret

        def write(connection: DatabaseConnection) -> dict[str, int]:
            if connection.execute("UPDATE server SET is_live = FALSE WHERE id = ? AND is_live", (former,)):
                connection.notify(RELEASED, "")
            _end(connection, expired)
            rows = connection.fetch_all("SELECT id, renewals FROM server WHERE is_live AND secret <> ?", (secret,))
            return {row["id"]: row["renewals"] for row in rows}

        if strangers := await self._database.write(write):
            raise OtherSecretError(strangers)
        return await self.renew(is_ready=is_ready)

    async def renew(self, *, is_ready: bool = True, expired: Mapping[str, int] = NOTHING) -> Standing:
        """Renew the lease, and return the standing of this server.

        is_ready: whether this server takes over runs at once.
        expired: servers whose lease ends, unless they have renewed it since they had this number of renewals.
        """
        server = self._database.server

        def write(connection: DatabaseConnection) -> Standing:
            _renew(connection, server, self._secret, is_ready)
            _end(connection, expired)
            connection.execute("DELETE FROM server WHERE NOT is_live AND id NOT IN (SELECT owner FROM run)")
            live = connection.fetch_all("SELECT id, renewals, is_ready FROM server WHERE is_live ORDER BY number")
            others = [row for row in live if row["id"] != server]
            return Standing(
                live[0]["id"] == server,
                {row["id"]: row["renewals"] for row in others},
                any(row["is_ready"] for row in others),
                _held(connection, server),
                _is_work_left(connection, server),
            )

        return await self._database.write(write, durable=False)

    async def standing_alone(self) -> Standing:
        """Return the standing of the only server of a file."""
        server = self._database.server
        return await self._database.read_together(
            lambda connection: Standing(True, {}, False, _held(connection, server), _is_work_left(connection, server))
        )

    async def release(self) -> None:
        """End the lease, so that other servers take over the runs at once."""
        server = self._database.server

        def write(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM server WHERE id = ?", (server,))
            connection.notify(RELEASED, "")

        await self._database.write(write)


def _renew(connection: DatabaseConnection, server: str, secret: bytes, is_ready: bool) -> None:
    connection.execute(
        "INSERT INTO server(id, renewals, is_live, is_ready, secret) VALUES (?, 1, TRUE, ?, ?) ON CONFLICT(id) DO "
        "UPDATE SET renewals = server.renewals + 1, is_live = TRUE, is_ready = excluded.is_ready",
        (server, is_ready, secret),
    )


def _held(connection: DatabaseConnection, server: str) -> dict[str, HeldRun]:
    rows = connection.fetch_all("SELECT id, epoch, is_cancelled FROM run WHERE owner = ?", (server,))
    return {row["id"]: HeldRun(row["epoch"], bool(row["is_cancelled"])) for row in rows}


def _is_work_left(connection: DatabaseConnection, server: str) -> bool:
    rows = connection.fetch_all(
        f"SELECT 1 FROM run WHERE {IS_LEFT} UNION ALL SELECT 1 FROM due_title WHERE {IS_LEFT} LIMIT 1", (server, server)
    )
    return bool(rows)


def _end(connection: DatabaseConnection, expired: Mapping[str, int]) -> None:
    connection.execute_many("UPDATE server SET is_live = FALSE WHERE id = ? AND renewals = ?", list(expired.items()))
