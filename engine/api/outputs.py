"""Outputs of the engine for its callers: text deltas, and the receipt at the end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cache_tiers.tier import TierId
from engine.api.promise import PromiseReport

FinishReason = Literal["stop", "length", "abort", "error", "timeout", "queue_timeout", "moved"]
"""timeout: the request's deadline passed. queue_timeout: it was not scheduled within the server's `--queue-timeout`.
moved: another engine continues the answer, which no client sees.
"""

FormVerdict = Literal["valid", "invalid", "unchecked"]
"""Result of the check of a complete answer whose form has keywords that are not enforced."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Milliseconds of each part of the time to the first token. The phases are consecutive and add up to it.

    queue: waiting to be scheduled, also after a preemption, and while another request computed a shared prefix.
    lookup: waiting until the lower tiers reported which blocks of the first window they have. Later windows are
        requested while earlier ones arrive.
    load: the rest of the wait for the tiers.
    prefill: in the batch until the first token. Tokens computed while the lower tiers were asked count here.
    """

    queue: float = 0.0
    lookup: float = 0.0
    load: float = 0.0
    prefill: float = 0.0

    @property
    def first_token(self) -> float:
        """Time from arrival to the first token, or to the end if there was none."""
        return self.queue + self.lookup + self.load + self.prefill


@dataclass(frozen=True, slots=True, kw_only=True)
class KVReceipt:
    """Origin of the prompt's KV.

    `reused` and `computed` add up to the number of prompt tokens, plus the answer's tokens from another process.

    reused: tokens by the tier that had their KV.
    computed: tokens whose KV was computed.
    restore_ms: duration of the loads that restored KV.
    loaded_bytes: bytes copied to the device by all loads, also after a preemption, by the tier that had them.
    blocks_verified: blocks from tiers below CPU memory, also of all loads. Each passed its MAC check.
    prefetched: tokens of the reused ones that a prefetch hint had brought from a lower tier before the request arrived,
        by that tier.
    saved_ms: estimated time to compute the reused tokens, less the wait for the tiers. Negative if the wait was in
        vain; None while the engine's speed is unknown.
    form: verdict on the answer; None if all of its form was enforced, or if it did not end with its form.
    promise: KV that is kept on the disk; None if the request did not ask for it, or ended early.
    """

    reused: Counter[TierId] = field(default_factory=Counter)
    computed: int = 0
    restore_ms: float = 0.0
    loaded_bytes: Counter[TierId] = field(default_factory=Counter)
    blocks_verified: int = 0
    prefetched: Counter[TierId] = field(default_factory=Counter)
    phases: Phases = Phases()
    saved_ms: float | None = None
    form: FormVerdict | None = None
    promise: PromiseReport | None = None

    @property
    def cached(self) -> int:
        """Tokens that were not recomputed, from all tiers together."""
        return self.reused.total()

    @property
    def tokens(self) -> int:
        """Number of tokens that the receipt covers."""
        return self.cached + self.computed


@dataclass(frozen=True, slots=True)
class KnownPrefix:
    """A prefix of a prompt that was computed before.

    continuation: the first few ids with which the earlier request continued.
    """

    num_tokens: int
    continuation: tuple[int, ...]


LossCause = Literal["evicted", "rejected", "breaker_open", "not_worth_loading", "not_brought"]


@dataclass(frozen=True, slots=True)
class MissReason:
    """Reason why the first block that had to be computed was neither on the device nor restored.

    detail: the reason in words.
    gone_from: tiers that once had the block, as far as is known, and no longer do.
    """

    cause: LossCause
    detail: str
    gone_from: tuple[TierId, ...]


@dataclass(frozen=True, slots=True)
class Reuse:
    """Prefix reuse of a request at its first admission.

    until: index of the first token that had to be computed.
    known: the prefix that the engine remembers to have computed.
    end: None if all requested blocks were restored.
    """

    until: int
    known: KnownPrefix
    end: MissReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of a finished request, and its times in milliseconds since its arrival in this process.

    queue_ms: until the request was first scheduled.
    ttft_ms: until the first token.
    total_ms: until the end.
    reuse: None if the request was never scheduled, or if reuse is off.
    resumed_tokens: completion tokens that another process had produced.
    reasoning_tokens: completion tokens of the reasoning, which is not part of the text.
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
    """Natural log probabilities of a token and of the likeliest tokens at its position, likeliest first.

    These are the model's own: no sampling parameter of the request affects them.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


PromptState = Literal["waiting", "loading", "computing"]
"""waiting: for a turn, for room, or for another request that computes a common prefix. loading: for the tiers."""


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """How far the prompt of a request is computed.

    total: tokens of the prompt, plus the answer's tokens from another process.
    done: those of them whose KV is on the device.
    reused: those of `done` that were not computed, by the tier that had their KV.
    seconds: since the request was first scheduled.
    seconds_left: estimated time until the first token, from the speed of this prompt so far; None while unknown.
    """

    total: int
    done: int
    reused: Counter[TierId]
    state: PromptState
    seconds: float
    seconds_left: float | None

    @property
    def cached(self) -> int:
        """Tokens that were not recomputed, from all tiers together."""
        return self.reused.total()

    @property
    def computed(self) -> int:
        """Tokens that were computed."""
        return max(0, self.done - self.cached)


# Not frozen, because one is made for every token of every request, and frozen objects take longer to make.
@dataclass(slots=True, kw_only=True)
class RequestOutput:
    """Output of one request since its previous RequestOutput.

    text: text that can no longer change (whole characters, no possible beginning of a stop string).
    token_ids: every id produced since the previous output, including ids whose text is held back or cut.
    finish_reason: set on the last output only.
    usage: set on the last output only.
    error: one sentence, with "error" and "queue_timeout".
    retry_after: with "queue_timeout", seconds after which another attempt is reasonable.
    error_path: with "error", the field of the request that is at fault; None if the engine is at fault.
    stop_string: with "stop", the entry of SamplingParams.stop that ended the request; None if a token did.
    reasoning: reasoning text, separate from `text`. In an output with both, the reasoning comes first.
    logprobs: one entry per id in `token_ids`, if requested.
    prompt_logprobs: one entry per prompt token but the first, on the first output, if requested.
    embedding: pooled hidden states, [hidden] float32 little-endian, on the last output, if requested.
    cached: prompt tokens that were not recomputed, on the first output with a token.
    progress: reports of the prompt's progress, oldest first, if requested. They precede the first new token.
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
    embedding: bytes | None = None
    cached: int | None = None
    progress: tuple[PromptProgress, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether this is the last output of the request."""
        return self.finish_reason is not None

    @property
    def said_logprobs(self) -> tuple[TokenLogprobs, ...]:
        """Log probabilities without that of a token that ended the answer."""
        ended_by_token = self.finish_reason == "stop" and self.stop_string is None
        return self.logprobs[:-1] if ended_by_token else self.logprobs

    @property
    def cut_before(self) -> str | None:
        """Text before which the answer was cut, or "" if that text is unknown; None if the model ended the answer."""
        return self.stop_string if self.finish_reason == "stop" else ""

    def with_text(self, text: str) -> "RequestOutput":
        """Return the output with another text, and itself if its text is the same: that is most outputs of a stream."""
        return self if text == self.text else replace(self, text=text)


def joined(outputs: Sequence[RequestOutput]) -> RequestOutput:
    """Merge consecutive outputs of one request, at least one, into a single output."""
    return replace(
        outputs[-1],
        text="".join(each.text for each in outputs),
        reasoning="".join(each.reasoning for each in outputs),
        token_ids=tuple([token_id for each in outputs for token_id in each.token_ids]),
        logprobs=tuple([logprob for each in outputs for logprob in each.logprobs]),
        prompt_logprobs=tuple([logprob for each in outputs for logprob in each.prompt_logprobs]),
        cached=next((each.cached for each in outputs if each.cached is not None), None),
        progress=tuple([report for each in outputs for report in each.progress]),
    )
