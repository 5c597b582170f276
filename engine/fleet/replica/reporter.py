"""Reports of a replica about itself, read from its scheduler."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import CPU
from engine.fleet.replica.chains import ChainBook, Holds
from engine.fleet.wire.report import ReplicaCost, ReplicaWork, Tips
from engine.request.request import Request, RequestStatus
from engine.scheduling.scheduler import Scheduler

T = TypeVar("T")
U = TypeVar("U")


class Reported(Protocol):
    """An engine whose scheduler can be asked."""

    def ask(self, call: Callable[[Scheduler], T], otherwise: U) -> T | U:
        """Call the scheduler. Return `otherwise` while its state is in doubt."""


@dataclass(frozen=True, slots=True)
class Reading:
    """State of a replica, for all its gateways. Tips are changes since the reading before."""

    work: ReplicaWork
    cost: ReplicaCost | None
    gained: Tips
    lost: Tips


class Reporter:
    """Reader of what one epoch of a replica reports."""

    def __init__(self, engine: Reported) -> None:
        self._engine = engine
        self._book = ChainBook()

    def read(self) -> Reading | None:
        """Return the state of the replica; None if nothing is known now."""
        return self._engine.ask(self._read, None)

    def published(self) -> Tips:
        """Return all tips, as of the last reading."""
        return self._book.published()

    def _read(self, scheduler: Scheduler) -> Reading:
        requests = list(scheduler.unfinished())
        for request in requests:
            if request.keeps_kv:
                self._book.use(request.block_keys)
        tiers = scheduler.connector.tiers
        self._book.check(_holders(scheduler, tiers))
        work = self._work(requests, scheduler.blocks.block_size)
        return Reading(work, _cost(scheduler, tiers), *self._book.take_changes())

    def _work(self, requests: Iterable[Request], block_size: int) -> ReplicaWork:
        tokens = decodes = prompts = waiting = context = 0
        pairs = 0.0
        awaited: set[BlockKey] = set()
        for request in requests:
            is_running = request.status is RequestStatus.RUNNING
            if is_running and request.output_token_ids:
                decodes, context = decodes + 1, context + request.num_tokens
                continue
            start = request.num_computed_tokens
            if is_running:
                prompts, context = prompts + 1, context + request.num_tokens
            else:
                waiting += 1
                start = max(start, block_size * self._num_at_hand(request.block_keys, awaited))
            awaited.update(request.block_keys)
            left = max(0, request.num_tokens - start)
            tokens, pairs = tokens + left, pairs + left * (start + request.num_tokens) / 2
        return ReplicaWork(tokens, pairs, decodes, prompts, waiting, context)

    def _num_at_hand(self, keys: list[BlockKey], awaited: set[BlockKey]) -> int:
        """Return how many leading blocks a waiting request will find.

        awaited: blocks that the requests before it compute.
        """
        device, cpu, _ = self._book.depths_of(keys)
        depth = max(device, cpu)
        while depth < len(keys) and keys[depth] in awaited:
            depth += 1
        return depth


def _holders(scheduler: Scheduler, tiers: TierManager | None) -> tuple[Holds, Holds, Holds]:
    if tiers is None:
        return scheduler.blocks.pool.has, _nowhere, _nowhere
    store = tiers.store
    in_cpu = store.contains if store.keeps_in_cpu else _nowhere
    below: Holds = _nowhere if store.link_speed() is None else lambda key: store.place_below(key) is not None
    return scheduler.blocks.pool.has, in_cpu, below


def _nowhere(_: BlockKey) -> bool:
    return False


def _cost(scheduler: Scheduler, tiers: TierManager | None) -> ReplicaCost | None:
    cost = scheduler.step_time.cost
    if cost.token_seconds is None:
        return None
    copy = load_start = load_block = 0.0
    if tiers is not None:
        copies = tiers.loads.seconds.get(CPU.id)
        copy = copies.total / max(1, tiers.loads.num_copied) if copies is not None else 0.0
        speed = tiers.store.link_speed()
        if speed is not None and speed.bytes_per_second:
            load_start, load_block = speed.answer_seconds or 0.0, tiers.cost.block_nbytes / speed.bytes_per_second
    return ReplicaCost(
        cost.step_seconds,
        cost.each_decode_seconds,
        cost.token_seconds,
        cost.key_seconds,
        scheduler.turn_seconds,
        copy,
        load_start,
        load_block,
        cost.num_steps,
    )
