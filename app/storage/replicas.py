"""Directory of the replicas that the servers of a database share (`engine.fleet.placement.shared_place`).

One server keeps the replicas: the first that wants to start one while no other keeps them, for as long as it has its
lease (`app.storage.servers`). Every start is conditional on that.
"""

import asyncio
from contextlib import suppress
from typing import Final

from app.storage.connection import MISSED, DatabaseConnection
from app.storage.database import Database
from app.storage.notices import NoticeHandlers
from app.storage.servers import LIVE
from engine.fleet.placement.shared_place import PublishedReplica, SharedPlace, decode_place, encode_place

REPLICAS: Final = "replicas"
"""Topic of the notice that a replica has another epoch or another place."""


class ReplicaStore:
    """Implementation of `engine.fleet.placement.shared_place.ReplicaDirectory`.

    Every method is one transaction or one read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._changed = asyncio.Event()

    async def read(self) -> dict[int, PublishedReplica]:
        """See ReplicaDirectory."""
        rows = await self._database.read("SELECT number, epoch, place FROM replica")
        return {
            row["number"]: PublishedReplica(row["epoch"], decode_place(row["place"]) if row["place"] else None)
            for row in rows
        }

    async def reserve(self, number: int, after: int = 0) -> int | None:
        """See ReplicaDirectory."""
        server = self._database.server

        def write(connection: DatabaseConnection) -> int | None:
            changed = connection.execute(
                f"UPDATE replica_keeper SET server = ?, last_epoch = {connection.dialect.greatest}(last_epoch, ?) + 1 "
                f"WHERE ? IN ({LIVE}) AND (server = ? OR server NOT IN ({LIVE}))",
                (server, after, server, server),
            )
            if not changed:
                return None
            row = connection.fetch_one("SELECT last_epoch FROM replica_keeper")
            assert row is not None
            epoch: int = row["last_epoch"]
            connection.execute(
                "INSERT INTO replica(number, epoch) VALUES (?, ?) "
                "ON CONFLICT(number) DO UPDATE SET epoch = excluded.epoch, place = NULL",
                (number, epoch),
            )
            connection.notify(REPLICAS, "")
            return epoch

        return await self._database.write(write)

    async def publish(self, number: int, epoch: int, place: SharedPlace) -> bool:
        """See ReplicaDirectory."""

        def write(connection: DatabaseConnection) -> bool:
            changed = connection.execute(
                "UPDATE replica SET place = ? WHERE number = ? AND epoch = ?", (encode_place(place), number, epoch)
            )
            connection.notify(REPLICAS, "")
            return changed == 1

        return await self._database.write(write)

    async def bring_back(self, number: int, epoch: int, place: SharedPlace) -> None:
        """See ReplicaDirectory."""

        def write(connection: DatabaseConnection) -> None:
            connection.execute(
                "INSERT INTO replica(number, epoch, place) VALUES (?, ?, ?) ON CONFLICT(number) DO UPDATE SET "
                "epoch = excluded.epoch, place = excluded.place "
                "WHERE replica.epoch < excluded.epoch OR (replica.epoch = excluded.epoch AND replica.place IS NULL)",
                (number, epoch, encode_place(place)),
            )
            connection.execute(
                f"UPDATE replica_keeper SET last_epoch = {connection.dialect.greatest}(last_epoch, ?)", (epoch,)
            )
            connection.notify(REPLICAS, "")

        await self._database.write(write)

    async def next_change(self, seconds: float) -> None:
        """See ReplicaDirectory."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    @property
    def notice_handlers(self) -> NoticeHandlers:
        """Handlers of the notices of other servers."""
        # Notices are missed while a standby takes the place of the database, which may have lost epochs.
        return {REPLICAS: self._on_change, MISSED: self._on_change}

    def _on_change(self, _text: str) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
