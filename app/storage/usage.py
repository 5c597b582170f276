"""Tokens of a tenant's stored answers, by day and by chat."""

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from app.schemas.response_bodies.account import AccountUsage
from app.storage.connection import Row
from app.storage.database import Database

DAY: Final = 86_400.0
MAX_CHATS: Final = 20


@dataclass(slots=True)
class _Sum:
    answers: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def add(self, usage: Mapping[str, Any]) -> None:
        details = usage.get("prompt_tokens_details")
        self.answers += 1
        self.prompt_tokens += _count(usage, "prompt_tokens")
        self.completion_tokens += _count(usage, "completion_tokens")
        self.cached_tokens += _count(details, "cached_tokens") if isinstance(details, dict) else 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class UsageStore:
    """The use of one tenant, as far as its answers are stored and not deleted."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def read(self, num_days: int) -> AccountUsage:
        """Sum up the answers of the last days, today included.

        The response lists the chats with the most tokens, at most MAX_CHATS.
        """
        since = (time.time() // DAY - num_days + 1) * DAY
        rows = await self._database.read_as(
            _answer,
            "SELECT message.conversation_id, conversation.title, message.created_at, message.usage "
            "FROM conversation JOIN message ON message.conversation_id = conversation.id "
            "WHERE conversation.tenant = ? AND conversation.deleted_at IS NULL AND conversation.updated_at >= ? "
            "AND message.deleted_at IS NULL AND message.role = 'assistant' AND message.usage IS NOT NULL "
            "AND message.created_at >= ?",
            (self._tenant, since, since),
            tenant=self._tenant,
        )
        days: dict[str, _Sum] = defaultdict(_Sum)
        chats: dict[str, _Sum] = defaultdict(_Sum)
        titles: dict[str, str | None] = {}
        for conversation_id, title, day, usage in rows:
            days[day].add(usage)
            chats[conversation_id].add(usage)
            titles[conversation_id] = title
        largest = sorted(chats.items(), key=lambda item: -item[1].tokens)[:MAX_CHATS]
        return {
            "days": [
                {
                    "day": day,
                    "answers": total.answers,
                    "prompt_tokens": total.prompt_tokens,
                    "cached_tokens": total.cached_tokens,
                    "completion_tokens": total.completion_tokens,
                }
                for day, total in sorted(days.items(), reverse=True)
            ],
            "chats": [
                {
                    "conversation_id": conversation_id,
                    "title": titles[conversation_id],
                    "answers": total.answers,
                    "prompt_tokens": total.prompt_tokens,
                    "cached_tokens": total.cached_tokens,
                    "completion_tokens": total.completion_tokens,
                }
                for conversation_id, total in largest
            ],
        }


def _answer(row: Row) -> tuple[str, str | None, str, Mapping[str, Any]]:
    usage = json.loads(row["usage"])
    day = datetime.fromtimestamp(row["created_at"], UTC).date().isoformat()
    return row["conversation_id"], row["title"], day, usage if isinstance(usage, dict) else {}


def _count(numbers: Mapping[str, Any], name: str) -> int:
    """Return a count. An import may have stored anything."""
    value = numbers.get(name)
    return value if isinstance(value, int) and 0 <= value < 1 << 40 else 0
