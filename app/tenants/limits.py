"""Limits of a tenant, and the error once one is reached."""

from dataclasses import dataclass, fields
from typing import Literal

from engine.api.errors import OverloadedError

LimitName = Literal[
    "requests_per_minute",
    "tokens_per_minute",
    "concurrent_runs",
    "conversations",
    "open_requests",
    "items_per_conversation",
    "stored_bytes",
]
MOST = 1 << 40
"""Maximum of any limit, within the range of SQLite's integers and of numbers in clients' JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLimits:
    """Limits of one tenant. None means no limit, 0 allows nothing.

    requests_per_minute: requests for an answer.
    tokens_per_minute: tokens of prompts and answers.
    concurrent_runs: answers that are waiting or being generated.
    conversations: stored conversations, including those made by responses.
    open_requests: requests of any kind in progress.
    items_per_conversation: messages of all branches.
    stored_bytes: bytes of all conversations and responses.
    kv_reserved: bytes of the disk tier that are reserved for promises. None reserves nothing.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent_runs: int | None = None
    conversations: int | None = None
    open_requests: int | None = None
    items_per_conversation: int | None = None
    stored_bytes: int | None = None
    kv_reserved: int | None = None


NO_LIMITS = TenantLimits()
LIMIT_NAMES: tuple[str, ...] = tuple(each.name for each in fields(TenantLimits))
"""Names of all limits, and of the reservation."""


class LimitReachedError(OverloadedError):
    """429: a tenant has reached a limit. The code names the limit."""

    def __init__(self, limit: LimitName, message: str, *, retry_after: int) -> None:
        super().__init__(message, retry_after=retry_after, code=f"{limit}_limit")
        self.limit = limit
