"""The two values that the scheduler and the worker exchange: one step of work, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from cache_tiers.transfer import BlockCopy, TransferJob, TransferResult
from engine.api.outputs import TokenLogprobs
from engine.api.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """The adapter of a request.

    digest: identity of its content (`Adapter`), since another adapter may have its name by the time of a step.
    first: position of the first token that the adapter changes.
    num_virtual: number of the request's first tokens that are those of a prompt adapter, which changes no others.
    """

    digest: str
    first: int = 0
    num_virtual: int = 0


@dataclass(frozen=True, slots=True)
class NewRequestData:
    """A request that the worker does not know: scheduled for the first time, or again after a preemption."""

    request_id: str
    token_ids: tuple[int, ...]
    """All known tokens: the prompt, then the tokens that were produced before a preemption."""
    prompt_len: int
    """Number of `token_ids` that belong to the prompt."""
    block_ids: tuple[int, ...]
    """Block table; block i holds positions [i * block_size, (i + 1) * block_size)."""
    num_computed_tokens: int
    """Leading tokens whose KV is already in those blocks."""
    sampling: SamplingParams
    adapter: AdapterUse | None = field(default=None, kw_only=True)
    """None for the base model."""


@dataclass(frozen=True, slots=True)
class CachedRequestData:
    """Changes of a request that the worker already knows."""

    request_id: str
    new_block_ids: tuple[int, ...]
    """Blocks appended to the block table."""
    num_computed_tokens: int
    new_token_ids: tuple[int, ...] = ()
    """Tokens appended after the last sampled one without sampling, because a grammar forced them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOutput:
    """One step of work.

    A request samples a token in this step if the step computes the last of its known tokens, or else returns its
    embedding if it asks for one. Loads and stores may end
    after the step, but a step without tokens waits for all that are in flight.
    """

    step_id: int
    new_requests: tuple[NewRequestData, ...] = ()
    cached_requests: tuple[CachedRequestData, ...] = ()
    num_scheduled_tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens to compute in this step by request id, at least 1 each, in the order of the batch."""
    dropped_request_ids: tuple[str, ...] = ()
    """Finished, aborted or preempted requests, which the worker drops before anything else."""
    copies: tuple[BlockCopy, ...] = ()
    """Copies within the device, made before the forward pass."""
    loads: tuple[TransferJob, ...] = ()
    """Copies from host to device, into blocks that no request of this step has."""
    stores: tuple[TransferJob, ...] = ()
    """Copies from device to host, including blocks that this step completes."""
    passes: int = 1
    """Forward passes, each over the tokens sampled by the one before; more than 1 only if every request decodes."""
    masks: Mapping[str, bytes] = field(default_factory=dict)
    """Allowed token ids by id of a request that samples in this step, packed as by `TokenMask.words`.

    Requests that are not listed may sample any id.
    """
    is_awaited: bool = False
    """Whether the next step cannot be scheduled before the tokens of this one are known."""
    drafts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Draft tokens by id of a decoding request (`engine.speculation`), computed after its last token.

    The count in `num_scheduled_tokens` includes them. The worker decides how many are accepted.
    """
    to_draft: Mapping[str, int] = field(default_factory=dict)
    """Most tokens that the worker's draft model is to draft after the last token of a decoding request.

    The count in `num_scheduled_tokens` does not include them. No other step is in flight.
    """

    @property
    def num_drafted(self) -> int:
        """Rows of drafts, of which the draft model may make fewer."""
        return sum(map(len, self.drafts.values())) + sum(self.to_draft.values())

    @property
    def total_tokens(self) -> int:
        """Rows of one forward pass, at most; 0 means that the step only moves blocks."""
        return sum(self.num_scheduled_tokens.values()) + sum(self.to_draft.values())

    @property
    def last_block(self) -> int:
        """Highest id of the blocks that requests or copies get in this step; -1 if they get none."""
        new = chain.from_iterable(
            [*(each.block_ids for each in self.new_requests), *(each.new_block_ids for each in self.cached_requests)]
        )
        copied = chain((each.block_id for each in self.loads), (each.target_id for each in self.copies))
        return max(chain(new, copied), default=-1)


@dataclass(frozen=True, slots=True)
class PromptLogprobs:
    """Log probabilities of a prompt chunk."""

    start: int
    tokens: tuple[TokenLogprobs, ...]
    """Log probabilities of the tokens at positions `start` + 1, `start` + 2 and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftWork:
    """Work of the draft model in a step.

    num_drafted: tokens that it drafted by request id. There are none for a request of which it still has to read more.
    passes, rows: its forward passes, and the rows of all of them.
    seconds: time that they took, before the pass of the large model.
    """

    num_drafted: Mapping[str, int]
    passes: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRunnerOutput:
    """The result of one step.

    Times are seconds on the worker's monotonic clock, so only their differences are meaningful.
    """

    step_id: int
    sampled_token_ids: Mapping[str, tuple[int, ...]]
    """Tokens by request id: one of each pass, or the accepted part of a draft and the token after it.

    Requests that did not sample are not listed.
    """
    transfers: tuple[TransferResult, ...] = ()
    """Results of copies of this step and of earlier ones that no output has reported before."""
    started: float = 0.0
    """Start of the forward passes and the sampling, without the transfers; 0 if nothing was computed."""
    ended: float = 0.0
    """End of the same; 0 if nothing was computed."""
    received: float = 0.0
    """Time at which the worker began the step."""
    prepared: float = 0.0
    """Time at which the step had been handed to the model."""
    sent: float = 0.0
    """Time at which the result was complete."""
    logprobs: Mapping[str, tuple[TokenLogprobs, ...]] = field(default_factory=dict)
    """Log probabilities of the sampled tokens, by id of a request that asked for them."""
    prompt_logprobs: Mapping[str, PromptLogprobs] = field(default_factory=dict)
    """Log probabilities of prompt chunks, by id of a request that asked for them."""
    embeddings: Mapping[str, bytes] = field(default_factory=dict)
    """Pooled hidden states, as in `RequestOutput`, by id of a request whose whole prompt has been computed."""
    draft_work: DraftWork | None = None
    """None if the step drafts nothing with the draft model. If it should have: the draft model has failed for good."""

    @property
    def seconds(self) -> float:
        """Wall time of all forward passes."""
        return self.ended - self.started
