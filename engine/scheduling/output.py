"""The two values that the scheduler side and the worker side exchange, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cache_tiers.transfer import BlockCopy, TransferJob, TransferResult
from engine.outputs import TokenLogprobs
from engine.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class NewRequestData:
    """A request that the worker does not know (first time, or again after preemption).

    token_ids: all tokens known so far: the prompt, then what was produced before a preemption.
    prompt_len: how many of them are the prompt.
    block_ids: its block table so far; block i holds positions [i * block_size, (i + 1) * block_size).
    num_computed_tokens: tokens whose KV is already in those blocks.
    """

    request_id: str
    token_ids: tuple[int, ...]
    prompt_len: int
    block_ids: tuple[int, ...]
    num_computed_tokens: int
    sampling: SamplingParams


@dataclass(frozen=True, slots=True)
class CachedRequestData:
    """A request that the worker already holds: only what changed. new_token_ids: those behind its last one that
    nobody had to sample."""

    request_id: str
    new_block_ids: tuple[int, ...]
    num_computed_tokens: int
    new_token_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulerOutput:
    """One step of work.

    num_scheduled_tokens: request id -> tokens to compute in this step (>= 1); its order is the batch's order.
    dropped_request_ids: the worker forgets these before anything else (finished, aborted or preempted).
    copies: within the device, done first; loads: host -> device, into blocks that no request in the step has; stores:
    device -> host, of what this step computes too. Loads and stores may end after the step; one without tokens waits
    for all that are under way.
    passes: how often the forward pass is made, each over the tokens of the one before; more than once only where
    everybody decodes.
    masks: by request that samples in this step, which ids may come, in the words of `TokenMask`; the others are free.
    is_awaited: the next step can only be put together when the tokens of this one are known.
    drafts: by request that decodes, what may come behind its last token (`engine.speculation`): computed behind it, so
    that its scheduled tokens are one more. Which of them stand is the worker's to say.
    A request samples a token in this step when its computed tokens reach all of its known tokens.
    """

    step_id: int
    new_requests: tuple[NewRequestData, ...] = ()
    cached_requests: tuple[CachedRequestData, ...] = ()
    num_scheduled_tokens: Mapping[str, int] = field(default_factory=dict)
    dropped_request_ids: tuple[str, ...] = ()
    copies: tuple[BlockCopy, ...] = ()
    loads: tuple[TransferJob, ...] = ()
    stores: tuple[TransferJob, ...] = ()
    passes: int = 1
    masks: Mapping[str, bytes] = field(default_factory=dict)
    is_awaited: bool = False
    drafts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def total_tokens(self) -> int:
        """Rows of a forward pass; 0 means that only blocks move."""
        return sum(self.num_scheduled_tokens.values())


@dataclass(frozen=True, slots=True)
class PromptLogprobs:
    """Of a chunk of a prompt: of the tokens behind position `start`, one after the other."""

    start: int
    tokens: tuple[TokenLogprobs, ...]


@dataclass(frozen=True, slots=True)
class ModelRunnerOutput:
    """The result of one step. sampled_token_ids: a token of each pass, or what stands of a draft and the token
    behind it; it lacks the requests that did not sample.

    started, ended: of the forward passes and the sampling, without the transfers, in seconds on the worker's monotonic
    clock, of which only differences mean anything; both 0 if nothing was computed. received, prepared, sent: when the
    worker began with the step, when it had handed it to the model, and when the result was whole; on the same clock.
    logprobs: of the sampled tokens, prompt_logprobs: of chunks; of the requests that want them. transfers: results that
    no output before had, of this step and of earlier ones.
    """

    step_id: int
    sampled_token_ids: Mapping[str, tuple[int, ...]]
    transfers: tuple[TransferResult, ...] = ()
    started: float = 0.0
    ended: float = 0.0
    received: float = 0.0
    prepared: float = 0.0
    sent: float = 0.0
    logprobs: Mapping[str, tuple[TokenLogprobs, ...]] = field(default_factory=dict)
    prompt_logprobs: Mapping[str, PromptLogprobs] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Wall time of all forward passes."""
        return self.ended - self.started
