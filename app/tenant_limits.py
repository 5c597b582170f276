"""What a tenant may use, and what it is told when that is used up."""

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from engine.errors import OverloadedError

LimitName = Literal[
    "requests_per_minute",
    "tokens_per_minute",
    "concurrent_runs",
    "conversations",
    "open_requests",
    "items_per_conversation",
    "stored_bytes",
]
LIMIT_NAMES: tuple[LimitName, ...] = get_args(LimitName)

MOST = 1 << 40
"""Of any limit: what SQLite and a client's JSON can hold."""


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """None: no limit. 0: nothing at all.

    requests_per_minute: requests for an answer. tokens_per_minute: of prompts and answers. concurrent_runs: answers
    that wait or are generated. conversations: stored ones, those that responses made among them. open_requests:
    requests of any kind that are being answered.
    items_per_conversation: messages of all branches. stored_bytes: of all conversations and responses.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent_runs: int | None = None
    conversations: int | None = None
    open_requests: int | None = None
    items_per_conversation: int | None = None
    stored_bytes: int | None = None

    def to_json(self) -> dict[str, int | None]:
        """What administrators see."""
        return asdict(self)


NO_LIMITS = TenantLimits()


class LimitReachedError(OverloadedError):
    """429: a tenant has used what it may; the code names the limit."""

    def __init__(self, limit: LimitName, message: str, *, retry_after: int) -> None:
        super().__init__(message, retry_after=retry_after, code=f"{limit}_limit")
        self.limit = limit
