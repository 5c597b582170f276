"""What the engine hands to its callers: text deltas, and the receipt at the end."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

FinishReason = Literal["stop", "length", "abort", "error", "timeout", "queue_timeout"]
"""timeout: the request's own time was over. queue_timeout: it had no turn within the server's `--queue-timeout`."""

Place = Literal["device", "cpu", "redis"]
"""Where a block is, the nearest of the tiers that have it."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Milliseconds of each part of the time to the first token; they follow each other and add up to it.

    queue: until its turn, again after a preemption, and while another request computed the beginning that they share.
    lookup: while it waited for the tiers and Redis had not said yet what it has of the first window that was asked of
    it; later windows are asked for while those before them come. load: the rest of its wait for the tiers.
    prefill: in the batch, up to the first token; what was computed while Redis was asked counts here.
    """

    queue: float = 0.0
    lookup: float = 0.0
    load: float = 0.0
    prefill: float = 0.0

    @property
    def first_token(self) -> float:
        """From arrival to the first token, or to the end if there was none."""
        return self.queue + self.lookup + self.load + self.prefill


@dataclass(frozen=True, slots=True)
class KVReceipt:
    """Where the prompt's tokens came from. device + cpu + redis + computed == prompt tokens, and those of the answer
    that another process had produced.

    restore_ms: duration of the loads that brought them. cpu_bytes, redis_bytes: moved into the device for it, by where
    they lay before; blocks_verified: those from Redis, each taken after its MAC was checked. These three count all of
    its loads, also those after a preemption. saved_ms: what the engine expects that computing the reused tokens would
    have taken, less the wait for the tiers (below 0 if that was in vain); None while it knows nothing of its speed.
    """

    device: int = 0
    cpu: int = 0
    redis: int = 0
    computed: int = 0
    restore_ms: float = 0.0
    cpu_bytes: int = 0
    redis_bytes: int = 0
    blocks_verified: int = 0
    phases: Phases = Phases()
    saved_ms: float | None = None

    @property
    def cached(self) -> int:
        """Tokens that were not computed again, from whichever tier."""
        return self.device + self.cpu + self.redis

    @property
    def tokens(self) -> int:
        """All that it tells of."""
        return self.cached + self.computed


@dataclass(frozen=True, slots=True)
class KnownPrefix:
    """A beginning of a prompt that was computed before, and how the one who did went on there (a few ids at most)."""

    num_tokens: int
    continuation: tuple[int, ...]


LossCause = Literal["evicted", "rejected", "breaker_open", "not_worth_loading", "not_brought"]


@dataclass(frozen=True, slots=True)
class ReuseEnd:
    """Why the first block that the device did not have, nor the tiers gave, did not come. detail: in words.

    gone_from: tiers that had it, as far as anybody can tell, and have it no more.
    """

    cause: LossCause
    detail: str
    gone_from: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reuse:
    """What is known of a request's beginning, when it was first admitted. until: index of the first token that had to
    be computed. known: what the engine remembers. end: None if everything came that was asked for."""

    until: int
    known: KnownPrefix
    end: ReuseEnd | None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one finished request, and its times in milliseconds since it came to this process.

    resumed_tokens: of the completion's, those that another process had produced; reasoning_tokens: those that were
    thought, and are no part of the text. reuse: None if it never had its turn,
    or if nothing is ever reused.
    """

    prompt_tokens: int
    completion_tokens: int
    kv: KVReceipt
    queue_ms: float
    ttft_ms: float
    total_ms: float
    reuse: Reuse | None = None
    resumed_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """The natural logarithm of a token's probability at its place, and the likeliest ones there, the likeliest first.

    Of the model itself: settings of the request change nothing in them.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


# Not frozen: one is made for every token of every request, and that would take five times as long.
@dataclass(slots=True)
class RequestOutput:
    """News of one request since the last RequestOutput.

    text: text that can no longer change (whole characters, no possible start of a stop string).
    token_ids: every id produced since the last output, also those whose text is held back or cut.
    finish_reason: set on the last output only, as is `usage`. `error` is one sentence, with "error"
    and "queue_timeout". retry_after: with "queue_timeout", seconds after which another try makes sense.
    error_path: with "error", the field of the request that is at fault; None if the engine is at fault.
    stop_string: with "stop", the one of SamplingParams.stop that ended it; None if a token did.
    reasoning: what the model thought before it answered, apart from `text`; if an output has both, it comes first.
    logprobs: of each of token_ids, if they were asked for. prompt_logprobs: of each token of the prompt but the first,
    with the first output, if they were asked for.
    """

    request_id: str
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    error: str | None = None
    retry_after: int | None = None
    error_path: str | None = None
    stop_string: str | None = None
    reasoning: str = ""
    logprobs: tuple[TokenLogprobs, ...] = ()
    prompt_logprobs: tuple[TokenLogprobs, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether this is the last output of the request."""
        return self.finish_reason is not None


def joined(outputs: Sequence[RequestOutput]) -> RequestOutput:
    """News of one request, in their order, as one; at least one."""
    return replace(
        outputs[-1],
        text="".join(each.text for each in outputs),
        reasoning="".join(each.reasoning for each in outputs),
        token_ids=tuple(itertools.chain.from_iterable(each.token_ids for each in outputs)),
        logprobs=tuple(itertools.chain.from_iterable(each.logprobs for each in outputs)),
        prompt_logprobs=tuple(itertools.chain.from_iterable(each.prompt_logprobs for each in outputs)),
    )
