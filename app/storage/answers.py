"""Sealed answers of clients that send whole conversations, by name: a tenant's share of the room is its own.

A name opens with its owner, which has a separate column here. Rows are removed in short transactions.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from cache_tiers.owners.block_key import OWNER_BYTES, Owner, owner_of
from cache_tiers.owners.fair_division import fair_shares

BATCH_ROWS: Final = 500
FILLED_PART: Final = 0.9
"""Part of the room that a trim leaves in use, so that trims are rare."""

SIZES = """
    SELECT owner, coalesce(sum(nbytes) FILTER (WHERE used_at >= ?), 0) AS nbytes, min(used_at) AS oldest
    FROM answer GROUP BY owner
"""
# Rows of an owner that do not fit, counted from the last used one.
NEWEST_OVER = """
    SELECT max(used_at) AS newest FROM (
      SELECT used_at, sum(nbytes) OVER (ORDER BY used_at DESC) AS total FROM answer WHERE owner = ?) AS newest_first
    WHERE total > ?
"""


@dataclass(frozen=True, slots=True)
class SealedAnswer:
    """Encrypted answer, and the time of its last use. used_at: Unix seconds."""

    sealed: bytes
    used_at: float


class AnswerStore:
    """Store of the records of `app.prompts.answer_memory`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, names: Collection[bytes]) -> dict[bytes, SealedAnswer]:
        """Read the answers that have one of these names."""
        by_digest = {_digest(name): name for name in names}
        rows = await self._database.read(
            f"SELECT name, sealed, used_at FROM answer WHERE name IN ({', '.join('?' * len(by_digest))})",
            list(by_digest),
        )
        return {by_digest[row["name"]]: SealedAnswer(row["sealed"], row["used_at"]) for row in rows}

    async def save(self, new: Mapping[bytes, SealedAnswer], used: Mapping[bytes, float]) -> None:
        """Add or replace the new answers, and note when others were used."""
        rows = [
            (_digest(name), owner_of(name), answer.sealed, len(answer.sealed), answer.used_at)
            for name, answer in new.items()
        ]
        uses = [(when, owner_of(name), _digest(name)) for name, when in used.items()]

        def write(connection: DatabaseConnection) -> None:
            connection.execute_many(
                "INSERT INTO answer(name, owner, sealed, nbytes, used_at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT(name) DO UPDATE SET owner = excluded.owner, sealed = excluded.sealed, "
                "nbytes = excluded.nbytes, used_at = excluded.used_at",
                rows,
            )
            connection.execute_many("UPDATE answer SET used_at = ?, owner = ? WHERE name = ?", uses)

        await self._database.write(write, durable=False)

    async def trim(self, *, unused_since: float, max_bytes: int, weight: Callable[[Owner], float]) -> None:
        """Remove answers that were last used before `unused_since`, then the excess over `max_bytes`.

        Each owner keeps its share by weight, and loses the answers beyond it that have been unused for longest. An
        owner that needs less than its share leaves the rest to the others.
        """
        held = dict[Owner, int]()
        for row in await self._database.read(SIZES, (unused_since,)):
            owner = Owner(row["owner"])
            held[owner] = row["nbytes"]
            if row["oldest"] < unused_since:
                await self._remove(owner, unused_since)
        if sum(held.values()) <= max_bytes:
            return
        for owner, share in fair_shares(int(max_bytes * FILLED_PART), held, weight).items():
            if held[owner] > share:
                [row] = await self._database.read(NEWEST_OVER, (owner, share))
                await self._remove(owner, row["newest"])

    async def _remove(self, owner: Owner, until: float | None) -> None:
        """Remove the answers of `owner` that were last used by that time; None removes nothing."""

        def remove(connection: DatabaseConnection) -> int:
            return connection.execute(
                "DELETE FROM answer WHERE name IN (SELECT name FROM answer WHERE owner = ? AND used_at <= ? "
                "ORDER BY used_at LIMIT ?)",
                (owner, until, BATCH_ROWS),
            )

        while await self._database.write_batch(remove) == BATCH_ROWS:
            pass


def _digest(name: bytes) -> bytes:
    """Return a name without its owner."""
    return name[OWNER_BYTES:]
