"""The tenants of the server as administrators see them, with what they store and what they have used."""

from dataclasses import dataclass
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import Database
from app.storage.matching import matching
from app.tenants.token_bucket import Use

EVERY: Final = 1 << 62
"""More rows than a table has."""

# Each part is read in the order of its index, so that a page reads no more rows than it shows.
TENANTS: Final = """
    SELECT known.tenant, coalesce(name, '') AS name, coalesce(email, '') AS email, coalesce(subject, '') AS subject
    FROM (
      SELECT tenant FROM (SELECT DISTINCT tenant FROM api_key WHERE revoked_at IS NULL AND tenant > :after
        ORDER BY tenant LIMIT :most) AS with_keys
      UNION SELECT tenant FROM (SELECT tenant FROM tenant_usage WHERE nbytes > 0 AND tenant > :after
        ORDER BY tenant LIMIT :most) AS with_chats
      UNION SELECT tenant FROM (SELECT tenant FROM tenant_limits WHERE tenant > :after
        ORDER BY tenant LIMIT :most) AS with_limits
      UNION SELECT tenant FROM (SELECT DISTINCT tenant FROM daily_use WHERE day >= :since AND tenant > :after
        ORDER BY tenant LIMIT :most) AS with_use
    ) AS known LEFT JOIN person ON person.tenant = known.tenant ORDER BY known.tenant
"""
NO_DAY: Final = "9999-12-31"
SEARCHED: Final = ("tenant", "name", "email", "subject")


@dataclass(frozen=True, slots=True)
class StoredTenant:
    """A tenant with its valid keys, its conversations, the bytes that it stores, and its use."""

    name: str
    keys: int
    conversations: int
    nbytes: int
    used: Use


class TenantStore:
    """The tenants that have keys, chats, limits or use."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def one(self, tenant: str) -> StoredTenant:
        """Return what a tenant has, without its use."""
        [found] = await self._database.read_together(lambda connection: _with_sums(connection, [tenant], NO_DAY))
        return found

    async def recent(self, most: int) -> list[str]:
        """Return the tenants whose chats were used last, the newest one first."""
        rows = await self._database.read(
            "SELECT tenant FROM conversation WHERE source = 'chat' GROUP BY tenant "
            "ORDER BY max(updated_at) DESC LIMIT ?",
            (most,),
        )
        return [row["tenant"] for row in rows]

    async def page(self, *, since: str, after: str, query: str, limit: int) -> list[StoredTenant]:
        """Return the first tenants after a name, in the order of their names.

        since: first day of the use, such as 2026-11-23.
        query: a text in the tenant's name, or in the name, address or subject of its person; "" accepts all.
        """

        def read(connection: DatabaseConnection) -> list[StoredTenant]:
            parameters = {"after": after, "since": since, "most": EVERY if query else limit}
            rows = matching(connection, TENANTS, parameters, SEARCHED, query, limit)
            return _with_sums(connection, [row["tenant"] for row in rows], since)

        return await self._database.read_together(read)


def _with_sums(connection: DatabaseConnection, names: list[str], since: str) -> list[StoredTenant]:
    if not names:
        return []
    among = f"tenant IN ({', '.join('?' * len(names))})"

    def sums(sql: str) -> dict[str, int]:
        return {row["tenant"]: row["n"] for row in connection.iterate(sql, names)}

    keys = sums(f"SELECT tenant, count(*) AS n FROM api_key WHERE {among} AND revoked_at IS NULL GROUP BY tenant")
    chats = sums(f"SELECT tenant, count(*) AS n FROM shown_conversation WHERE {among} GROUP BY tenant")
    sizes = sums(f"SELECT tenant, nbytes AS n FROM tenant_usage WHERE {among}")
    used = {
        row["tenant"]: Use(int(row["requests"]), int(row["tokens"]))
        for row in connection.iterate(
            f"SELECT tenant, sum(requests) AS requests, sum(tokens) AS tokens FROM daily_use "
            f"WHERE {among} AND day >= ? GROUP BY tenant",
            (*names, since),
        )
    }
    return [
        StoredTenant(name, keys.get(name, 0), chats.get(name, 0), sizes.get(name, 0), used.get(name, Use()))
        for name in names
    ]
