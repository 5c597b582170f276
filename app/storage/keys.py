"""API keys and the logins made with them. Secrets are stored as digests only."""

import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.storage.database import Database
from app.tenants.api_key import ApiKey, digest_of, new_key
from app.tenants.principal import Scope
from engine.errors import NotFoundError

COLUMNS = "id, name, tenant, scope, digest, created_at, last_used_at, revoked_at"
MAX_LOGINS = 32
"""Maximum number of logins per key. Beyond it, the oldest login ends."""


@dataclass(frozen=True, slots=True)
class Login:
    """The login of a page.

    expires_at: Unix seconds.
    """

    key_id: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """The number of keys in a database file.

    made: keys ever created, including revoked ones.
    valid: keys that are not revoked.
    """

    made: int
    valid: int


class KeyStore:
    """The keys and logins of all tenants.

    Each method is one transaction or one read. Once a method has returned, its effect survives a crash of the process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, tenant: str, scope: Scope) -> tuple[ApiKey, str]:
        """Create a key and return its record and its secret. The secret cannot be read again later."""
        key_id, secret = new_key()
        key = ApiKey(key_id, name, tenant, scope, digest_of(secret), time.time())

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO api_key(id, name, tenant, scope, digest, created_at) VALUES (?, ?, ?, ?, ?, ?)",
                (key.id, name, tenant, scope, key.digest, key.created_at),
            )

        await self._database.write(insert)
        return key, secret

    async def all(self) -> list[ApiKey]:
        """Return all keys, revoked ones included, in the order of their creation."""
        rows = await self._database.read_keys(f"SELECT {COLUMNS} FROM api_key ORDER BY created_at, id")
        return [ApiKey(**dict(row)) for row in rows]

    async def revoke(self, key_id: str) -> None:
        """Revoke a key and end the logins made with it. Raises NotFoundError."""

        def update(connection: sqlite3.Connection) -> None:
            cursor = connection.execute(
                "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (time.time(), key_id)
            )
            if not cursor.rowcount:
                raise NotFoundError(f"There is no key {key_id}", param="id", code="key_not_found")
            connection.execute("DELETE FROM login WHERE key_id = ?", (key_id,))

        await self._database.write(update)

    async def revoke_all_of(self, tenant: str) -> int:
        """Revoke all keys of a tenant and return how many were still valid."""

        def update(connection: sqlite3.Connection) -> int:
            cursor = connection.execute(
                "UPDATE api_key SET revoked_at = ? WHERE tenant = ? AND revoked_at IS NULL", (time.time(), tenant)
            )
            of_tenant = "SELECT id FROM api_key WHERE tenant = ?"
            connection.execute(f"DELETE FROM login WHERE key_id IN ({of_tenant})", (tenant,))
            return cursor.rowcount

        return await self._database.write(update)

    async def mark_used(self, key_ids: Collection[str], at: float) -> None:
        """Record when keys were last used.

        at: Unix seconds.
        """

        def update(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "UPDATE api_key SET last_used_at = ? WHERE id = ?", [(at, key_id) for key_id in key_ids]
            )

        await self._database.write(update, durable=False)

    async def log_in(self, digest: bytes, login: Login) -> None:
        """Store a login. Removes expired logins, and the oldest ones of the same key beyond MAX_LOGINS."""

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM login WHERE expires_at <= ?", (time.time(),))
            connection.execute(
                "DELETE FROM login WHERE digest IN (SELECT digest FROM login WHERE key_id = ? "
                "ORDER BY expires_at DESC LIMIT -1 OFFSET ?)",
                (login.key_id, MAX_LOGINS - 1),
            )
            connection.execute(
                "INSERT INTO login(digest, key_id, expires_at) VALUES (?, ?, ?)",
                (digest, login.key_id, login.expires_at),
            )

        await self._database.write(insert)

    async def log_out(self, digest: bytes) -> None:
        """End a login, if there is one."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM login WHERE digest = ?", (digest,))

        await self._database.write(delete)

    async def logins(self) -> dict[bytes, Login]:
        """Return all logins by their digests. Some of them may have expired."""
        rows = await self._database.read_keys("SELECT digest, key_id, expires_at FROM login")
        return {row["digest"]: Login(row["key_id"], row["expires_at"]) for row in rows}


def count_keys(database: Path) -> KeyCounts:
    """Count the keys in a database file without changing the file.

    A file that does not exist, or predates keys, counts as having none.
    """
    if not database.exists():
        return KeyCounts(0, 0)
    with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'api_key'").fetchone():
            return KeyCounts(0, 0)
        made, valid = connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE revoked_at IS NULL) FROM api_key"
        ).fetchone()
    return KeyCounts(made, valid)
