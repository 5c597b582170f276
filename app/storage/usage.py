"""Tokens of a tenant's stored answers, by day and by chat."""

import time
from datetime import UTC, datetime
from typing import Final

from app.schemas.response_bodies.account import AccountUsage, ChatUsage, Counts, DayUsage
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import READ_SECONDS, Database
from app.storage.dialect import Dialect

DAY: Final = 86_400
MAX_CHATS: Final = 20

COUNTS: Final = {
    "prompt_tokens": ("prompt_tokens",),
    "cached_tokens": ("prompt_tokens_details", "cached_tokens"),
    "completion_tokens": ("completion_tokens",),
}
"""Where the usage of an answer has each count. An import may have stored anything there."""

ANSWERS: Final = """
    FROM conversation JOIN message ON message.conversation_id = conversation.id
    WHERE conversation.tenant = :tenant AND conversation.deleted_at IS NULL AND conversation.updated_at >= :since
    AND message.deleted_at IS NULL AND message.role = 'assistant' AND message.usage IS NOT NULL
    AND message.created_at >= :since
"""


class UsageStore:
    """The use of one tenant, as far as its answers are stored and not deleted."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def read(self, num_days: int) -> AccountUsage:
        """Sum up the answers of the last days, today included.

        The response lists the chats with the most tokens, at most MAX_CHATS. As there may be many answers, the database
        adds, for one request of a tenant at a time.
        """
        since = (time.time() // DAY - num_days + 1) * DAY
        by_day, by_chat = _by_day(self._database.dialect), _by_chat(self._database.dialect)
        given = {"tenant": self._tenant, "since": since}

        def add(connection: DatabaseConnection) -> AccountUsage:
            return {
                "days": [_day(row) for row in connection.fetch_all(by_day, given)],
                "chats": [_chat(row) for row in connection.fetch_all(by_chat, given | {"most": MAX_CHATS})],
            }

        return await self._database.search(add, tenant=self._tenant, seconds=READ_SECONDS)


def _by_day(dialect: Dialect) -> str:
    day = dialect.whole(f"message.created_at / {DAY}")
    return f"SELECT {day} AS day, {_sums(dialect)} {ANSWERS} GROUP BY {day} ORDER BY day DESC"


def _by_chat(dialect: Dialect) -> str:
    prompt, completion = (_sum(dialect, name) for name in ("prompt_tokens", "completion_tokens"))
    return (
        f"SELECT conversation.id AS conversation_id, conversation.title, {_sums(dialect)} {ANSWERS} "
        f"GROUP BY conversation.id, conversation.title "
        f"ORDER BY {prompt} + {completion} DESC, conversation.id LIMIT :most"
    )


def _sums(dialect: Dialect) -> str:
    return ", ".join(["count(*) AS answers", *(f"{_sum(dialect, name)} AS {name}" for name in COUNTS)])


def _sum(dialect: Dialect, name: str) -> str:
    return f"CAST(sum({dialect.json_count('message.usage', COUNTS[name])}) AS BIGINT)"


def _day(row: Row) -> DayUsage:
    return {"day": datetime.fromtimestamp(row["day"] * DAY, UTC).date().isoformat(), **_counts(row)}


def _chat(row: Row) -> ChatUsage:
    return {"conversation_id": row["conversation_id"], "title": row["title"], **_counts(row)}


def _counts(row: Row) -> Counts:
    return {
        "answers": row["answers"],
        "prompt_tokens": row["prompt_tokens"],
        "cached_tokens": row["cached_tokens"],
        "completion_tokens": row["completion_tokens"],
    }
