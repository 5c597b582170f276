"""A request as the scheduler side sees it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import inf

from cache_tiers.block_key import BlockKey, Owner, owner_of
from engine.kv.block import KVCacheBlock
from engine.outputs import FinishReason, KVReceipt, Reuse, ReuseEnd, TokenLogprobs
from engine.public_prefix import PublicPrefix
from engine.sampling.token_mask import TokenMask
from engine.sampling_params import SamplingParams
from engine.timeline import Timeline


class RequestStatus(Enum):
    """WAITING -> (LOADING ->) RUNNING -> FINISHED; RUNNING -> PREEMPTED, which waits again at its place.

    RUNNING -> LOADING if Redis turns out to have what it was computing. WAITING -> FOLLOWING -> WAITING, at its place,
    if another one has begun to compute the beginning that they share.
    """

    WAITING = auto()
    FOLLOWING = auto()
    LOADING = auto()
    RUNNING = auto()
    PREEMPTED = auto()
    FINISHED = auto()


@dataclass(frozen=True, slots=True)
class Restored:
    """Tokens that a load brought, by where they lay; seconds: how long it took."""

    cpu: int
    redis: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a request could not begin.

    num_blocks: free blocks that it needed. next_key: the key of the first block that the device did not have; None if
    it has all that can be found.
    """

    num_blocks: int
    next_key: BlockKey | None


@dataclass(slots=True, eq=False, weakref_slot=True)
class Request:
    """Identity and progress of one request. The scheduler alone changes it.

    block_keys: keys of its full blocks, as far as their tokens are known; `root_key` is the parent of the first one
    that is the tenant's own. public: what it begins with that is every tenant's.
    blocks: its block table, owned by the BlockManager.
    num_computed_tokens: tokens whose KV is written once all scheduled steps are done.
    num_confirmed_tokens: the same, counting only steps whose result has come.
    steps_in_flight: steps that were scheduled with it and whose result has not come;
    samples_in_flight: how many of them produce a token. num_drafted: tokens of a draft that the last of them computes:
    how many of these stand, and with them its next position, is not known before its result.
    restored: what the tiers brought, at its last admission. cpu_blocks, redis_blocks: what all of its loads brought.
    reuse_seconds: what computing the tokens that were reused should have taken; None: nobody knows.
    reuse_end: why the tiers did not bring more, at the last time; reuse: what was known at its first admission.
    keeps_kv: whether others may find what it computed; if not, it takes nothing away from what they would find either.
    priority: smaller is sooner. order: its number among all arrivals, given by the scheduler.
    wait_began: when it joined the queue, later by the time that it was out of it; waited: seconds that it had spent
    there when it last left for its turn.
    lack: what it lacked when it could not begin for want of room; None: it was not tried.
    held_back_since: when it first waited for blocks of its tenant to go down (`HeldBack`); None: never.
    deadline: when it ends, with whatever it has; start_by: when it ends unless it had a turn. Both, as all times here,
    on the scheduler's clock.
    mask: what says which token may come next; None: any. untold_token_ids: the last of its tokens, as many as were
    forced by the mask since the worker was told of it. prompt_logprobs: of the prompt's tokens behind the first one,
    as far as they are known, if it wants them.
    siblings: the requests for several answers to one prompt that have not ended, this one among them, in the order of
    their numbers; empty if it came alone.
    """

    request_id: str
    tenant: str
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingParams
    root_key: BlockKey
    block_keys: list[BlockKey]
    arrival: float
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
    num_drafted: int = 0
    known_to_worker: bool = False
    tiers_asked: bool = False
    restored: Restored | None = None
    cpu_blocks: int = 0
    redis_blocks: int = 0
    reuse_seconds: float | None = None
    receipt: KVReceipt | None = None
    reuse_end: ReuseEnd | None = None
    reuse: Reuse | None = None
    started: float | None = None
    finish_reason: FinishReason | None = None
    public: PublicPrefix | None = None
    mask: TokenMask | None = None
    untold_token_ids: list[int] = field(default_factory=list)
    prompt_logprobs: list[TokenLogprobs] = field(default_factory=list)
    keeps_kv: bool = True
    siblings: list["Request"] = field(default_factory=list, repr=False)
    on_place: Callable[[], None] | None = field(default=None, repr=False)
    """Called when the request gets its place in the batch; neither blocks nor raises."""
    timeline: Timeline = field(init=False)

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.arrival)

    def fork(self, request_id: str, choice: int, mask: TokenMask | None) -> "Request":
        """A request for one more answer to its prompt, which differs in the numbers that its tokens are drawn with.

        To be called before it has its first turn. mask: the fork's own, if this one has one.
        """
        fork = Request(
            request_id,
            self.tenant,
            self.prompt_token_ids,
            replace(self.sampling, choice=choice),
            self.root_key,
            list(self.block_keys),
            arrival=self.arrival,
            priority=self.priority,
            deadline=self.deadline,
            start_by=self.start_by,
            public=self.public,
            keeps_kv=self.keeps_kv,
            mask=mask,
        )
        self.siblings = self.siblings or [self]
        self.siblings.append(fork)
        fork.siblings = self.siblings
        return fork

    def renewed(self, block_keys: list[BlockKey], mask: TokenMask | None) -> "Request":
        """Make a request of the same identity, parameters and measurements that has produced nothing, and that neither
        a scheduler nor a worker knows. Its siblings are the caller's to set."""
        renewed = Request(
            self.request_id,
            self.tenant,
            self.prompt_token_ids,
            self.sampling,
            self.root_key,
            block_keys,
            arrival=self.arrival,
            priority=self.priority,
            deadline=self.deadline,
            # A request that had its turn cannot be too late for it any more.
            start_by=self.start_by if self.started is None and not self.tiers_asked else inf,
            cpu_blocks=self.cpu_blocks,
            redis_blocks=self.redis_blocks,
            reuse_seconds=self.reuse_seconds,
            receipt=self.receipt,
            reuse=self.reuse,
            started=self.started,
            public=self.public,
            keeps_kv=self.keeps_kv,
            mask=mask,
        )
        renewed.timeline = self.timeline
        return renewed

    @property
    def owner(self) -> Owner:
        """Whom its blocks are charged to, but for those of a public prefix."""
        return owner_of(self.root_key)

    @property
    def num_prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.prompt_token_ids)

    @property
    def num_shared_tokens(self) -> int:
        """What its siblings may share with it: each of them computes the last token of the prompt itself."""
        return len(self.prompt_token_ids) - 1

    @property
    def has_prompt(self) -> bool:
        """Whether its blocks hold what its siblings may share."""
        return bool(self.blocks) and 0 < self.num_shared_tokens <= self.num_confirmed_tokens

    @property
    def is_fork(self) -> bool:
        """Whether it is for one more answer to the prompt of a request that came before it."""
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
    def will_reach_max_tokens(self) -> bool:
        """Whether the steps in flight already produce its last token."""
        limit = self.sampling.max_tokens
        return limit is not None and self.num_produced_tokens >= limit

    @property
    def num_wanted_tokens(self) -> int:
        """Tokens that it still wants beside those that steps in flight will produce. Needs `max_tokens`."""
        assert self.sampling.max_tokens is not None
        return self.sampling.max_tokens - self.num_produced_tokens

    @property
    def needs_known_tokens(self) -> bool:
        """Whether each of its tokens can only be chosen when all before it are known here: no step with it is put
        together while one is in flight that produces a token of it."""
        return self.mask is not None or self.sampling.has_bad_phrases

    @property
    def may_be_sampled(self) -> bool:
        """Whether a step may be put together that chooses its next token."""
        if self.num_drafted or (self.samples_in_flight and self.needs_known_tokens):
            return False
        return self.mask is None or self.mask.is_ready

    def forced_tokens(self) -> Sequence[int]:
        """What must follow its last token, and is appended next: nothing is left to choose."""
        # Nobody computes how likely a forced token was.
        forced = () if self.mask is None or self.sampling.logprobs is not None else self.mask.forced()
        self.untold_token_ids.extend(forced)
        return forced

    def append_token(self, token_id: int) -> None:
        """The next token of its answer has come."""
        self.output_token_ids.append(token_id)
        if self.mask is not None:
            self.mask.accept(token_id)

    def key_before(self, index: int) -> BlockKey:
        """The parent of block `index`: the key of the block before it, or a root."""
        if self.public is None:
            return self.block_keys[index - 1] if index else self.root_key
        if index == len(self.public.keys):
            return self.root_key
        return self.block_keys[index - 1] if index else self.public.root_key

    def token_ids(self, start: int, stop: int) -> tuple[int, ...]:
        """Known ids of positions [start, stop)."""
        prompt = len(self.prompt_token_ids)
        if stop <= prompt:
            return self.prompt_token_ids[start:stop]
        head = self.prompt_token_ids[start:prompt] if start < prompt else ()
        return head + tuple(self.output_token_ids[max(start - prompt, 0) : stop - prompt])
