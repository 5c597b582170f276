"""Limits of tenants, and those that only a transaction can hold: on what is stored."""

from collections.abc import Collection

from app.config.sizes import format_size
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.tenants.limits import LIMIT_NAMES, LimitReachedError, TenantLimits
from app.tenants.reservations import check_reservation

RETRY_SECONDS = 60
"""Retry-After of a refusal, although no time is known at which a conversation will be deleted."""

COLUMNS = ", ".join(LIMIT_NAMES)
ALL_LIMITS = f"SELECT tenant, {COLUMNS} FROM tenant_limits"


class LimitStore:
    """Limits of all tenants. Every method is one transaction or one read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> dict[str, TenantLimits]:
        """Read the limits of all tenants for which limits were ever set."""
        rows = await self._database.read(ALL_LIMITS)
        return {row["tenant"]: limits_of(row) for row in rows}

    async def set(self, tenant: str, limits: TenantLimits, *, reservable: int | None = None) -> None:
        """Replace the limits of a tenant.

        reservable: bytes of the disk tier, into which all reservations must fit together; None checks nothing. Another
            reservation may be made at the same moment, so the transaction checks. Raise InvalidRequestError.
        """
        values = [tenant, *(getattr(limits, name) for name in LIMIT_NAMES)]

        def replace(connection: DatabaseConnection) -> None:
            if reservable is not None and limits.kv_reserved:
                known = {row["tenant"]: limits_of(row) for row in connection.fetch_all(ALL_LIMITS)}
                check_reservation(known, tenant, limits.kv_reserved, reservable)
            places = ", ".join("?" * len(values))
            connection.execute(
                f"INSERT INTO tenant_limits(tenant, {COLUMNS}) VALUES ({places}) "
                f"ON CONFLICT(tenant) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in LIMIT_NAMES)}",
                values,
            )

        await self._database.write(replace)

    async def stored_bytes(self) -> dict[str, int]:
        """Read the number of bytes that each tenant stores."""
        rows = await self._database.read("SELECT tenant, nbytes FROM tenant_usage WHERE nbytes > 0")
        return {row["tenant"]: row["nbytes"] for row in rows}


def limits_of(row: Row) -> TenantLimits:
    """Convert a row of `tenant_limits`."""
    return TenantLimits(**{name: row[name] for name in LIMIT_NAMES})


def check_room(connection: DatabaseConnection, tenant: str, num_new: int) -> None:
    """Check that there is room for more conversations, inside the transaction that creates them.

    Deleted ones count until they are removed. Raise LimitReachedError.
    """
    rows = connection.fetch_all(
        "SELECT conversations AS most, (SELECT count(*) FROM conversation WHERE tenant = :tenant) AS stored, "
        "(SELECT count(*) FROM conversation WHERE tenant = :tenant AND deleted_at IS NULL) AS shown "
        "FROM tenant_limits WHERE tenant = :tenant AND conversations IS NOT NULL",
        {"tenant": tenant},
    )
    for row in rows:
        if row["stored"] + num_new > row["most"]:
            raise LimitReachedError(
                "conversations",
                f"Conversation limit reached: this tenant may store {row['most']} conversations, and "
                f"{row['stored']} are stored, {row['stored'] - row['shown']} of them recently deleted. Delete some for "
                "good.",
                retry_after=RETRY_SECONDS,
            )


def check_size(connection: DatabaseConnection, tenant: str) -> None:
    """Check a tenant's stored bytes, inside the transaction that adds to them. Raise LimitReachedError."""
    rows = connection.fetch_all(
        "SELECT stored_bytes, nbytes FROM tenant_limits JOIN tenant_usage USING (tenant) "
        "WHERE tenant = ? AND nbytes > stored_bytes",
        (tenant,),
    )
    for most, nbytes in rows:
        raise LimitReachedError(
            "stored_bytes",
            f"Storage limit reached: this tenant may store {format_size(most)}, and would store {format_size(nbytes)} "
            "after this request. Delete conversations for good: recently deleted ones count.",
            retry_after=RETRY_SECONDS,
        )


def check_items(connection: DatabaseConnection, conversations: Collection[str]) -> None:
    """Check the numbers of messages of a tenant's conversations and its bytes, in the transaction that adds to them.

    Deleted messages count until they are removed. Raise LimitReachedError.

    conversations: ids.
    """
    rows = connection.fetch_all(
        "SELECT conversation.id, tenant, items_per_conversation FROM conversation JOIN tenant_limits USING (tenant) "
        f"WHERE conversation.id IN ({', '.join('?' * len(conversations))}) "
        "AND (items_per_conversation IS NOT NULL OR stored_bytes IS NOT NULL)",
        tuple(conversations),
    )
    for tenant in {row["tenant"] for row in rows}:
        check_size(connection, tenant)
    for conversation_id, _, most in rows:
        if most is None:
            continue
        [[stored]] = connection.fetch_all(
            "SELECT count(*) FROM (SELECT 1 FROM message WHERE conversation_id = ? LIMIT ?) AS stored",
            (conversation_id, most + 1),
        )
        if stored > most:
            raise LimitReachedError(
                "items_per_conversation",
                f"Message limit reached: a conversation of this tenant may have {most} messages. Continue in a "
                "new one.",
                retry_after=RETRY_SECONDS,
            )
