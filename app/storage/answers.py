"""Sealed answers of clients that send whole conversations, by name. What was not used for long goes."""

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from app.storage.database import Database


@dataclass(frozen=True, slots=True)
class SealedAnswer:
    """used_at: Unix seconds."""

    sealed: bytes
    used_at: float


class AnswerStore:
    """Reads and writes what `app.answer_memory` hands it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, names: Collection[bytes]) -> dict[bytes, SealedAnswer]:
        """Those that there are."""
        rows = await self._database.read(
            f"SELECT name, sealed, used_at FROM answer WHERE name IN ({', '.join('?' * len(names))})", names
        )
        return {row["name"]: SealedAnswer(row["sealed"], row["used_at"]) for row in rows}

    async def save(self, new: Mapping[bytes, SealedAnswer], used: Mapping[bytes, float]) -> None:
        """Add or replace the new ones; note when others were used."""

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO answer(name, sealed, nbytes, used_at) VALUES (?, ?, ?, ?)",
                [(name, answer.sealed, len(answer.sealed), answer.used_at) for name, answer in new.items()],
            )
            connection.executemany(
                "UPDATE answer SET used_at = ? WHERE name = ?", [(when, name) for name, when in used.items()]
            )

        await self._database.write(write, durable=False)

    async def trim(self, *, unused_since: float, max_bytes: int) -> None:
        """Remove what was last used before that time, then what was used longest ago while the rest is too large."""

        def remove(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM answer WHERE used_at < ?", (unused_since,))
            [(nbytes,)] = connection.execute("SELECT total(nbytes) FROM answer").fetchall()
            if nbytes > max_bytes:
                # Some more than needed, so that this is rare.
                connection.execute(
                    "DELETE FROM answer WHERE rowid IN (SELECT rowid FROM (SELECT rowid, sum(nbytes) OVER "
                    "(ORDER BY used_at DESC) AS kept FROM answer) WHERE kept > ?)",
                    (max_bytes * 9 // 10,),
                )

        await self._database.write(remove, durable=False)
