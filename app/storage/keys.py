"""API keys and the logins made with them. Secrets are stored as digests only."""

import time
from collections.abc import Collection
from dataclasses import dataclass

from app.domain.digests import digest_of
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.matching import ListPlace, matching
from app.tenants.api_key import ApiKey, new_key
from app.tenants.principal import Scope
from engine.api.errors import ConflictError, NotFoundError

COLUMNS = "id, name, tenant, scope, digest, created_at, last_used_at, revoked_at"
LOGIN_COLUMNS = "digest, key_id, expires_at"
MAX_LOGINS = 32
"""Maximum number of logins per key. Beyond it, the oldest login ends."""


@dataclass(frozen=True, slots=True)
class Login:
    """The login of a page.

    expires_at: Unix seconds.
    """

    key_id: str
    expires_at: float


class KeyStore:
    """The keys and logins of all tenants.

    Each method is one transaction or one read. Once a method has returned, its effect survives a crash of the process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, tenant: str, scope: Scope, *, person_id: str | None = None) -> tuple[ApiKey, str]:
        """Create a key and return its record and its secret. The secret cannot be read again later.

        person_id: the person whose own key this is; None for a key of no person.

        Raise ConflictError: the tenant belongs to another person, whose chats the key would open.
        """
        key_id, secret = new_key()
        key = ApiKey(id=key_id, name=name, tenant=tenant, scope=scope, digest=digest_of(secret), created_at=time.time())

        def insert(connection: DatabaseConnection) -> None:
            owner = connection.fetch_one("SELECT id FROM person WHERE tenant = ?", (tenant,))
            if owner is not None and owner["id"] != person_id:
                raise ConflictError(
                    f"The tenant {tenant} is a person, who alone makes keys to it, in the account: name another tenant",
                    param="tenant",
                    code="tenant_of_person",
                )
            connection.execute(
                "INSERT INTO api_key(id, name, tenant, scope, digest, created_at) VALUES (?, ?, ?, ?, ?, ?)",
                (key.id, name, tenant, scope, key.digest, key.created_at),
            )

        await self._database.write(insert)
        return key, secret

    async def all(self) -> list[ApiKey]:
        """Return all keys, revoked ones included, in the order of their creation."""
        return await self._database.read_as(key_of, f"SELECT {COLUMNS} FROM api_key ORDER BY created_at, id", ())

    async def page(self, *, after: ListPlace, query: str, limit: int) -> list[ApiKey]:
        """Return the first keys after a place, revoked ones included, in the order of their creation.

        query: a text in the key's id, its name or its tenant; "" accepts all.
        """
        sql = f"SELECT {COLUMNS} FROM api_key WHERE (created_at, id) > (:at, :id) ORDER BY created_at, id"
        place = {"at": after[0], "id": after[1]}
        return await self._database.read_together(
            lambda connection: [
                key_of(row) for row in matching(connection, sql, place, ("id", "name", "tenant"), query, limit)
            ]
        )

    async def valid_of(self, tenant: str) -> list[ApiKey]:
        """Return the valid keys of a tenant, in the order of their creation."""
        return await self._database.read_as(
            key_of,
            f"SELECT {COLUMNS} FROM api_key WHERE tenant = ? AND revoked_at IS NULL ORDER BY created_at, id",
            (tenant,),
        )

    async def first_admin(self) -> str | None:
        """Return the id of the first valid key of scope admin; None if there is none."""
        rows = await self._database.read(
            "SELECT id FROM api_key WHERE scope = 'admin' AND revoked_at IS NULL ORDER BY created_at, id LIMIT 1"
        )
        return rows[0]["id"] if rows else None

    async def revoke(self, key_id: str) -> None:
        """Revoke a key and end the logins made with it. Raise NotFoundError."""

        def update(connection: DatabaseConnection) -> None:
            changed = connection.execute(
                "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (time.time(), key_id)
            )
            if not changed:
                raise NotFoundError(f"There is no key {key_id}", param="id", code="key_not_found")
            connection.execute("DELETE FROM login WHERE key_id = ?", (key_id,))

        await self._database.write(update)

    async def revoke_all_of(self, tenant: str) -> int:
        """Revoke all keys of a tenant and return how many were still valid."""

        def update(connection: DatabaseConnection) -> int:
            num_revoked = connection.execute(
                "UPDATE api_key SET revoked_at = ? WHERE tenant = ? AND revoked_at IS NULL", (time.time(), tenant)
            )
            of_tenant = "SELECT id FROM api_key WHERE tenant = ?"
            connection.execute(f"DELETE FROM login WHERE key_id IN ({of_tenant})", (tenant,))
            return num_revoked

        return await self._database.write(update)

    async def mark_used(self, key_ids: Collection[str], at: float) -> None:
        """Record when keys were last used.

        at: Unix seconds.
        """

        def update(connection: DatabaseConnection) -> None:
            connection.execute_many(
                "UPDATE api_key SET last_used_at = ? WHERE id = ?", [(at, key_id) for key_id in key_ids]
            )

        await self._database.write(update, durable=False)

    async def log_in(self, digest: bytes, login: Login) -> None:
        """Store a login. Removes expired logins, and the oldest ones of the same key beyond MAX_LOGINS."""

        def insert(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM login WHERE expires_at <= ?", (time.time(),))
            connection.execute(
                "DELETE FROM login WHERE key_id = ? AND digest NOT IN (SELECT digest FROM login WHERE key_id = ? "
                "ORDER BY expires_at DESC LIMIT ?)",
                (login.key_id, login.key_id, MAX_LOGINS - 1),
            )
            connection.execute(
                "INSERT INTO login(digest, key_id, expires_at) VALUES (?, ?, ?)",
                (digest, login.key_id, login.expires_at),
            )

        await self._database.write(insert)

    async def log_out(self, digest: bytes) -> None:
        """End a login, if there is one."""

        def delete(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM login WHERE digest = ?", (digest,))

        await self._database.write(delete)


def key_of(row: Row) -> ApiKey:
    """Convert a row of `api_key`."""
    return ApiKey(**dict(row))


def login_of(row: Row) -> Login:
    """Convert a row of `login`."""
    return Login(row["key_id"], row["expires_at"])
