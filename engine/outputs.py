"""What the engine hands to its callers: text deltas, and the receipt at the end."""

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length", "abort", "error", "timeout", "queue_timeout"]
"""timeout: the request's own time was over. queue_timeout: it had no turn within the server's `--queue-timeout`."""


@dataclass(frozen=True, slots=True)
class KVReceipt:
    """Where the prompt's tokens came from. device + cpu + redis + computed == prompt tokens."""

    device: int = 0
    cpu: int = 0
    redis: int = 0
    computed: int = 0
    restore_ms: float = 0.0

    @property
    def cached(self) -> int:
        """Tokens that were not computed again, from whichever tier."""
        return self.device + self.cpu + self.redis


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one finished request, and its times in milliseconds."""

    prompt_tokens: int
    completion_tokens: int
    kv: KVReceipt
    queue_ms: float
    ttft_ms: float
    total_ms: float


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """News of one request since the last RequestOutput.

    text: text that can no longer change (whole characters, no possible start of a stop string).
    token_ids: every id produced since the last output, also those whose text is held back or cut.
    finish_reason: set on the last output only, as is `usage`. `error` is one sentence, with "error"
    and "queue_timeout". retry_after: with "queue_timeout", seconds after which another try makes sense.
    """

    request_id: str
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    error: str | None = None
    retry_after: int | None = None

    @property
    def finished(self) -> bool:
        """Whether this is the last output of the request."""
        return self.finish_reason is not None
