"""A scheduler on top of the toy worker and, optionally, the toy tiers, driven one step at a time."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import KeyNamespace, extend_keys
from engine.api.sampling_params import SamplingParams
from engine.block_tables.block_manager import BlockManager
from engine.kv.block_pool import BlockPool
from engine.offload.connector import OffloadConnector
from engine.offload.interface import TierConnector
from engine.offload.no_tiers import NoTiers
from engine.offload.prefill_cost import PrefillCost
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.queue.policy import QueuePolicy, make_queue
from engine.scheduling.results import TokenUpdate
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.step_size import SchedulerLimits
from engine.speculation.guess import Proposer
from engine.speculation.model_drafts import ModelDrafts
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import ToyWorker, expected_output

BLOCK = 4
VOCAB = 50
ROOT = KeyNamespace(
    model_fingerprint="toy",
    numerics="toy",
    kv_dtype="toy",
    block_size=BLOCK,
    layout_version=1,
    tp_rank=0,
    tp_size=1,
    tenant_salt=b"salt",
).root()


def bare_request(
    order: int, *, tenant: str = "local", priority: int = 0, arrival: float = 0.0, prompt_tokens: int = 1
) -> Request:
    """Build a request as a queue sees it, in position `order` of arrival."""
    sampling = SamplingParams(max_tokens=4, seed=0)
    request = Request(
        request_id=f"r{order}",
        tenant=tenant,
        prompt_token_ids=(1,) * prompt_tokens,
        sampling=sampling,
        root_key=ROOT,
        block_keys=[],
        arrival=arrival,
        priority=priority,
    )
    request.order, request.wait_began = order, arrival
    return request


def are_right(requests: Iterable[Request]) -> bool:
    """Return whether each answer is the one that the toy model gives alone."""
    return all(r.output_token_ids == expected_output(r.prompt_token_ids, r.sampling, VOCAB) for r in requests)


@dataclass
class Rig:
    """The scheduler and everything that it needs. Without a `store` there are no tiers."""

    pool_blocks: int = 16
    max_num_seqs: int = 4
    max_tokens_per_step: int = 8
    max_waiting: int = 100
    policy: QueuePolicy = "fair"
    max_wait: float = 30.0
    decode_passes: int = 1
    num_stages: int = 1
    rest: float = 0.0
    weights: Mapping[str, float] | None = None
    store: ToyStore | None = None
    prefix_cache: bool = True
    prefill: PrefillCost = field(default_factory=PrefillCost)
    proposer: Proposer | None = None
    model_drafts: ModelDrafts | None = None
    now: float = 0.0
    requests: list[Request] = field(default_factory=list)
    ids: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.worker = ToyWorker(BLOCK, VOCAB, self.store.host if self.store else {})
        self.tiers = (
            TierManager(self.store, LoadCost(1, deadline=1.0), clock=self.clock, rest=self.rest) if self.store else None
        )
        self.pool = BlockPool(self.pool_blocks, on_evict=self.tiers.stores.forget if self.tiers else None)
        self.blocks = BlockManager(self.pool, BLOCK, 1, prefix_cache=self.prefix_cache)
        connector: TierConnector = NoTiers()
        if self.tiers is not None:
            connector = OffloadConnector(self.tiers, self.blocks, self.prefill, clock=self.clock)
        limits = SchedulerLimits(
            self.max_num_seqs, self.max_tokens_per_step, decode_passes=self.decode_passes, num_stages=self.num_stages
        )
        queue = make_queue(
            self.policy, max_waiting=self.max_waiting, max_wait=self.max_wait, weights=self.weights or {}
        )
        self.scheduler = Scheduler(
            limits,
            self.blocks,
            connector,
            queue,
            clock=self.clock,
            proposer=self.proposer,
            model_drafts=self.model_drafts,
        )

    def clock(self) -> float:
        return self.now

    def add(
        self,
        prompt: Sequence[int],
        max_tokens: int = 4,
        *,
        tenant: str = "local",
        priority: int = 0,
        deadline: float = inf,
        start_by: float = inf,
        stop_token_ids: tuple[int, ...] = (),
        keep_kv: bool = True,
        is_stored: bool = True,
        produced: Sequence[int] = (),
        prompt_logprobs: int | None = None,
    ) -> Request:
        keys = extend_keys(ROOT, prompt, BLOCK) if self.prefix_cache else []
        sampling = SamplingParams(
            temperature=0.0,
            max_tokens=max_tokens,
            seed=0,
            stop_token_ids=stop_token_ids,
            prompt_logprobs=prompt_logprobs,
        )
        request = Request(
            request_id=f"r{next(self.ids)}",
            tenant=tenant,
            prompt_token_ids=tuple(prompt),
            sampling=sampling,
            root_key=ROOT,
            block_keys=keys,
            arrival=self.now,
            priority=priority,
            is_stored=is_stored,
        )
        request.deadline, request.start_by, request.keeps_kv = deadline, start_by, keep_kv
        request.output_token_ids.extend(produced)
        self.scheduler.add_request(request)
        self.requests.append(request)
        return request

    def add_answers(
        self, prompt: Sequence[int], count: int, max_tokens: int = 4, *, keep_kv: bool = True
    ) -> list[Request]:
        """Add requests for `count` answers to one prompt."""
        first = self.add(prompt, max_tokens, keep_kv=keep_kv)
        forks = [first.fork(f"r{next(self.ids)}", choice, None) for choice in range(1, count)]
        for fork in forks:
            self.scheduler.add_request(fork)
        self.requests += forks
        return [first, *forks]

    def begin(self) -> tuple[SchedulerOutput, ModelRunnerOutput]:
        output = self.scheduler.schedule()
        assert output is not None
        return output, self.worker.execute(output)

    def step(self) -> tuple[SchedulerOutput, list[TokenUpdate]]:
        output, result = self.begin()
        return output, self.scheduler.update(output, result)

    def run(self, most_steps: int = 1000) -> None:
        """Run at most `most_steps` steps, until every request has finished."""
        for _ in range(most_steps):
            output = self.scheduler.schedule()
            if output is not None:
                self.scheduler.update(output, self.worker.execute(output))
            elif not self.scheduler.has_unfinished_requests():
                return
            assert_no_leaks(self.scheduler)
        raise AssertionError("the request never ended")
