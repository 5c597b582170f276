"""A request on the scheduler's side."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import inf

from cache_tiers.owners.block_key import BlockKey, Owner, owner_of
from cache_tiers.tier import TierId
from engine.api.outputs import FinishReason, KVReceipt, MissReason, Reuse, TokenLogprobs
from engine.api.promise import PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.kv.block import KVCacheBlock
from engine.request.public_prefix import PublicPrefix
from engine.request.scheduler_output import AdapterUse
from engine.request.timeline import Timeline
from engine.sampling.token_mask import TokenMask


class RequestStatus(Enum):
    """States: WAITING -> (LOADING ->) RUNNING -> FINISHED; RUNNING -> PREEMPTED, which keeps its place in the queue.

    RUNNING -> LOADING if a lower tier turns out to have the blocks being computed.
    WAITING -> WAITING_FOR_PREFIX -> WAITING, with the same place in the queue, while another request computes a shared
    prefix.
    """

    WAITING = auto()
    WAITING_FOR_PREFIX = auto()
    LOADING = auto()
    RUNNING = auto()
    PREEMPTED = auto()
    FINISHED = auto()


@dataclass(frozen=True, slots=True)
class Restored:
    """Tokens restored by a load.

    by_tier: tokens by the tier that had them, in the order of the blocks.
    seconds: duration of the load.
    """

    by_tier: Counter[TierId]
    seconds: float

    def first(self, most: int) -> Counter[TierId]:
        """Return at most `most` of the tokens, by tier, in the order of `by_tier`."""
        taken, left = Counter[TierId](), most
        for tier, count in self.by_tier.items():
            taken[tier] = min(count, left)
            left -= taken[tier]
        return taken


@dataclass(frozen=True, slots=True)
class Lack:
    """Reason why a request could not be admitted.

    num_blocks: free blocks that it needed.
    next_key: the key of the first block that the device did not have; None if the device has all that can be found.
    """

    num_blocks: int
    next_key: BlockKey | None


@dataclass(slots=True, eq=False, weakref_slot=True, kw_only=True)
class Request:
    """Identity and progress of one request. Only the scheduler changes it. All times are on the scheduler's clock.

    root_key: the parent of the first block that is the tenant's own.
    block_keys: keys of the full blocks whose tokens are known.
    priority: smaller is sooner.
    order: number among all arrivals, assigned by the scheduler. Answers that another process began come first.
    wait_began: when the request joined the queue, moved forward by the time spent outside of it.
    waited: seconds in the queue when the request last left it to be scheduled.
    lack: blocks missing when admission last failed; None if no admission has failed.
    held_back_since: when the request first waited for blocks of its tenant to be copied down (`HeldBack`); None: never.
    deadline: when the request ends, with the tokens that it has by then.
    start_by: when the request ends unless it has been scheduled by then.
    blocks: the block table, owned by the BlockManager.
    num_computed_tokens: tokens whose KV is written once all scheduled steps are done.
    num_confirmed_tokens: the same, for steps whose result has arrived.
    steps_in_flight: scheduled steps with this request whose result has not arrived.
    samples_in_flight: steps in flight that produce a token.
    sampled_by: id of the last step that produces a token, once there is one.
    ignored_before: the results of steps with a smaller id are ignored.
    num_drafted: draft tokens in the last of these steps. The number accepted, and with it the next position, is unknown
        until its result arrives.
    restored: tokens that the tiers restored at the last admission.
    loaded_blocks: blocks that all loads together restored, by the tier that had them.
    prefetched: source of each block of the prompt that a prefetch hint had brought.
    reuse_seconds: estimated time to compute the reused tokens; None if unknown.
    miss_reason: why the tiers restored no more at the last admission.
    reuse: prefix reuse at the first admission.
    started: when the request was first scheduled; None until then.
    public: the public prefix with which the prompt begins, if any.
    mask: determines which tokens may come next; None for any.
    unsent_token_ids: the latest tokens, forced by the mask, that the worker has not received yet.
    prompt_logprobs: log probabilities of the prompt's tokens after the first, as far as computed, if requested.
    adapter: the adapter that computes it; None for the base model.
    num_marked, promise: as in `GenerateRequest`.
    moves_at: tokens of the answer with which another engine continues it; None if it ends here.
    keeps_kv: other requests may find the KV that this one computes. If False, it also leaves cached KV as it is.
    is_stored: as in `GenerateRequest`.
    siblings: unfinished requests for several answers to one prompt, including this one, by number; empty for a single
        answer.
    """

    request_id: str
    tenant: str
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingParams
    root_key: BlockKey
    block_keys: list[BlockKey]
    arrival: float
    adapter: AdapterUse | None = None
    priority: int = 0
    order: int = 0
    wait_began: float = 0.0
    waited: float = 0.0
    lack: Lack | None = None
    held_back_since: float | None = None
    deadline: float = inf
    start_by: float = inf
    output_token_ids: list[int] = field(default_factory=list)
    status: RequestStatus = RequestStatus.WAITING
    blocks: list[KVCacheBlock] = field(default_factory=list)
    num_computed_tokens: int = 0
    num_confirmed_tokens: int = 0
    num_published_blocks: int = 0
    steps_in_flight: int = 0
    samples_in_flight: int = 0
    sampled_by: int = -1
    ignored_before: int = 0
    num_drafted: int = 0
    known_to_worker: bool = False
    tiers_asked: bool = False
    restored: Restored | None = None
    loaded_blocks: Counter[TierId] = field(default_factory=Counter)
    prefetched: Mapping[BlockKey, TierId] = field(default_factory=dict)
    reuse_seconds: float | None = None
    receipt: KVReceipt | None = None
    miss_reason: MissReason | None = None
    reuse: Reuse | None = None
    started: float | None = None
    finish_reason: FinishReason | None = None
    public: PublicPrefix | None = None
    mask: TokenMask | None = None
    unsent_token_ids: list[int] = field(default_factory=list)
    prompt_logprobs: list[TokenLogprobs] = field(default_factory=list)
    num_marked: int = 0
    promise: PromiseRequest | None = None
    moves_at: int | None = None
    keeps_kv: bool = True
    is_stored: bool = True
    siblings: list["Request"] = field(default_factory=list, repr=False)
    on_place: Callable[[], None] | None = field(default=None, repr=False)
    """Called when the request gets its place in the batch. The callback must not raise, and hardly block."""
    timeline: Timeline = field(init=False)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.arrival)

    def fork(self, request_id: str, choice: int, mask: TokenMask | None) -> "Request":
        """Create a request for one more answer to the prompt, whose tokens are drawn with other random numbers.

        Call this before the request is first scheduled. `mask` is the fork's own; None if this request has none.
        """
        fork = Request(
            request_id=request_id,
            tenant=self.tenant,
            prompt_token_ids=self.prompt_token_ids,
            sampling=replace(self.sampling, choice=choice),
            root_key=self.root_key,
            adapter=self.adapter,
            block_keys=list(self.block_keys),
            arrival=self.arrival,
            priority=self.priority,
            deadline=self.deadline,
            start_by=self.start_by,
            public=self.public,
            num_marked=self.num_marked,
            moves_at=self.moves_at,
            keeps_kv=self.keeps_kv,
            is_stored=self.is_stored,
            mask=mask,
        )
        self.siblings = self.siblings or [self]
        self.siblings.append(fork)
        fork.siblings = self.siblings
        return fork

    def renewed(self, block_keys: list[BlockKey], mask: TokenMask | None) -> "Request":
        """Create a request with the same identity, parameters and measurements, but without tokens.

        Neither a scheduler nor a worker knows the new request. The caller sets its siblings.
        """
        renewed = Request(
            request_id=self.request_id,
            tenant=self.tenant,
            prompt_token_ids=self.prompt_token_ids,
            sampling=self.sampling,
            root_key=self.root_key,
            adapter=self.adapter,
            block_keys=block_keys,
            arrival=self.arrival,
            priority=self.priority,
            deadline=self.deadline,
            # A request that was scheduled once can no longer miss the time limit for that.
            start_by=self.start_by if self.started is None and not self.tiers_asked else inf,
            loaded_blocks=self.loaded_blocks,
            reuse_seconds=self.reuse_seconds,
            receipt=self.receipt,
            reuse=self.reuse,
            started=self.started,
            public=self.public,
            num_marked=self.num_marked,
            promise=self.promise,
            moves_at=self.moves_at,
            keeps_kv=self.keeps_kv,
            is_stored=self.is_stored,
            mask=mask,
        )
        renewed.timeline = self.timeline
        return renewed

    @property
    def owner(self) -> Owner:
        """Owner charged for the blocks, except for those of a public prefix."""
        return owner_of(self.root_key)

    def marked_blocks(self, block_size: int) -> range:
        """Return the indices of the blocks that the client marked for caching.

        A mark is one tenant's, so the blocks of a public prefix have none.
        """
        last = self.num_tokens if self.num_marked >= self.num_prompt_tokens else self.num_marked
        return range(len(self.public.keys) if self.public is not None else 0, last // block_size)

    @property
    def may_be_deferred(self) -> bool:
        """Whether the tiers below CPU memory need not have the blocks before another request finds them.

        Not so if the client marked the whole prompt, or if another engine continues the answer.
        """
        return not (self.is_stored or self.num_marked >= self.num_prompt_tokens or self.moves_at is not None)

    @property
    def may_be_promised(self) -> bool:
        """Whether blocks of the prompt, which is computed, are to be promised."""
        has_prompt = self.num_confirmed_tokens >= self.num_prompt_tokens
        return has_prompt and self.promise is not None and self.promise.reserved_bytes > 0

    def keys_to_promise(self, block_size: int) -> list[BlockKey]:
        """Return the keys of the blocks that the client wants to be promised."""
        num_tokens = self.promise.num_tokens if self.promise is not None else 0
        return self.block_keys[: min(num_tokens, self.num_prompt_tokens) // block_size]

    @property
    def text_token_ids(self) -> tuple[int, ...]:
        """The prompt without the virtual tokens of a prompt adapter, which are not in the vocabulary."""
        return self.prompt_token_ids[self.adapter.num_virtual if self.adapter is not None else 0 :]

    @property
    def num_prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.prompt_token_ids)

    @property
    def num_shared_tokens(self) -> int:
        """Prompt tokens whose KV siblings may share: each of them computes the last prompt token itself."""
        return len(self.prompt_token_ids) - 1

    @property
    def has_prompt(self) -> bool:
        """Whether the blocks hold the KV that siblings may share.

        A running request that turned to a lower tier loads into a block that it had computed in part. Until the load
        ends, no copy may read that block.
        """
        if self.status is RequestStatus.LOADING:
            return False
        return bool(self.blocks) and 0 < self.num_shared_tokens <= self.num_confirmed_tokens

    @property
    def is_fork(self) -> bool:
        """Whether the request is for one more answer to the prompt of an earlier request."""
        return bool(self.siblings) and self.siblings[0] is not self

    @property
    def num_tokens(self) -> int:
        """Tokens whose ids are known."""
        return len(self.prompt_token_ids) + len(self.output_token_ids)

    @property
    def num_pending_tokens(self) -> int:
        """Tokens that could be computed next, counting those that a step in flight will produce."""
        return self.num_tokens + self.samples_in_flight - self.num_computed_tokens

    @property
    def num_produced_tokens(self) -> int:
        """Tokens of the answer, counting those that steps in flight will produce."""
        return len(self.output_token_ids) + self.samples_in_flight

    @property
    def has_begun(self) -> bool:
        """Whether the answer has a token, or a step in flight will produce its first one."""
        return self.num_produced_tokens > 0

    @property
    def most_tokens(self) -> int | None:
        """Tokens of the answer that this engine produces at most, with those it began with; None for no limit."""
        limits = [limit for limit in (self.sampling.max_tokens, self.moves_at) if limit is not None]
        # The last step of a prompt samples a token even if none is wanted.
        return max(1, min(limits)) if limits else None

    @property
    def will_reach_most_tokens(self) -> bool:
        """Whether the steps in flight already produce the last token."""
        limit = self.most_tokens
        return limit is not None and self.num_produced_tokens >= limit

    @property
    def num_wanted_tokens(self) -> int:
        """Tokens still to be produced, apart from those that steps in flight will produce. Requires a limit."""
        limit = self.most_tokens
        assert limit is not None
        return limit - self.num_produced_tokens

    @property
    def needs_known_tokens(self) -> bool:
        """Whether a token can only be sampled once all tokens before it are known here.

        Such a request is not scheduled while a step in flight produces one of its tokens.
        """
        return self.is_masked or self.sampling.has_bad_phrases

    @property
    def is_masked(self) -> bool:
        """Whether a mask restricts the next token."""
        return self.mask is not None and not self.mask.is_asleep

    @property
    def may_be_sampled(self) -> bool:
        """Whether a step that samples the next token may be scheduled."""
        if self.num_drafted or (self.samples_in_flight and self.needs_known_tokens):
            return False
        return self.mask is None or self.mask.is_asleep or self.mask.is_ready

    def forced_tokens(self) -> Sequence[int]:
        """Return the tokens that must follow, for the caller to append: there is no choice to sample."""
        # The sampler computes log probabilities and counts tokens for penalties, so it must choose each of them then.
        is_sampled = self.sampling.logprobs is not None or self.sampling.has_penalties
        forced = () if self.mask is None or self.mask.is_asleep or is_sampled else self.mask.forced()
        self.unsent_token_ids.extend(forced)
        return forced

    def append_token(self, token_id: int) -> None:
        """Append the next token of the answer."""
        self.output_token_ids.append(token_id)
        if self.mask is not None:
            self.mask.accept(token_id)

    def advance(self, count: int) -> None:
        """Count `count` more tokens as computed by the steps that are scheduled."""
        self.num_computed_tokens += count

    def confirm(self, count: int) -> None:
        """Count `count` more tokens as computed by steps whose result has arrived."""
        self.num_confirmed_tokens += count

    def restore_to(self, count: int) -> None:
        """Count the first `count` tokens as computed and confirmed, because the blocks hold their KV."""
        self.num_computed_tokens = self.num_confirmed_tokens = count

    def unconfirm(self) -> None:
        """Count no token as confirmed, so that no block is published and no sibling copies one."""
        self.num_confirmed_tokens = 0

    def ignore_steps(self, before: int) -> None:
        """Ignore the results of the steps in flight, whose ids are less than `before`: they read a wrong block."""
        self.ignored_before, self.samples_in_flight, self.num_drafted = before, 0, 0

    def draw_again(self) -> None:
        """Forget all draws behind the last known token. The KV of that token is computed again."""
        self.ignore_steps(self.sampled_by + 1)
        self.num_computed_tokens = min(self.num_computed_tokens, self.num_tokens - 1)

    def reset(self) -> None:
        """Count no token as computed, because the request has given up its blocks."""
        self.restore_to(0)

    def key_before(self, index: int) -> BlockKey:
        """Return the parent of block `index`: the key of the block before it, or a root."""
        if self.public is None:
            return self.block_keys[index - 1] if index else self.root_key
        if index == len(self.public.keys):
            return self.root_key
        return self.block_keys[index - 1] if index else self.public.root_key

    def token_ids(self, start: int, stop: int) -> tuple[int, ...]:
        """Return the known ids of positions [start, stop)."""
        prompt = len(self.prompt_token_ids)
        if stop <= prompt:
            return self.prompt_token_ids[start:stop]
        head = self.prompt_token_ids[start:prompt] if start < prompt else ()
        return head + tuple(self.output_token_ids[max(start - prompt, 0) : stop - prompt])
