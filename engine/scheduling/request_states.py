"""State of every unfinished request and its transitions. Policy is elsewhere."""

import itertools
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from engine.api.outputs import FinishReason
from engine.block_tables.block_manager import BlockManager
from engine.block_tables.prefix_log import PrefixLog
from engine.offload.interface import TierConnector
from engine.offload.reuse_notes import ReuseNotes
from engine.request.request import Request, RequestStatus
from engine.request.timeline import Phase
from engine.scheduling.deadlines import Deadlines
from engine.scheduling.prefix_waiters import PrefixWaiters, heir_of, take_prompt
from engine.scheduling.queue.line import Key, SortedRequests
from engine.scheduling.queue.request_queue import RequestQueue
from engine.scheduling.shares import Shares
from engine.speculation.phrases import Phrases

EARLIER: Final = -(2**62)
"""First arrival number of the requests that arrived elsewhere. They never reach 0."""


class RequestStates:
    """Owner of all unfinished requests. Each of them is in the queue, following, loading or running.

    running: requests by the queue's `level`, then arrival, which with one tenant is the order of rank.
    num_preemptions, num_reclaims: counts since the start of preempted requests, and of waiting requests whose restored
    blocks were taken back.
    """

    def __init__(
        self,
        queue: RequestQueue,
        blocks: BlockManager,
        connector: TierConnector,
        reuse: ReuseNotes | None = None,
        phrases: Phrases | None = None,
    ) -> None:
        self.queue = queue
        self.running = SortedRequests(self.sort_key)
        self.num_preemptions = 0
        self.num_reclaims = 0
        self._blocks = blocks
        self._connector = connector
        self._reuse = reuse
        self._phrases = phrases
        self._orders = itertools.count()
        self._earlier_orders = itertools.count(EARLIER)
        self._requests: dict[str, Request] = {}
        self._loading: dict[str, Request] = {}
        self._restored: dict[str, Request] = {}
        self._dropped: list[str] = []
        self.prefix_waiters = PrefixWaiters(queue, blocks)
        self.deadlines = Deadlines()
        self.prefixes = PrefixLog(blocks.pool.owners, blocks.block_size)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests.values())

    def get(self, request_id: str) -> Request | None:
        """Return the request; None if it is unknown or has finished."""
        return self._requests.get(request_id)

    def sort_key(self, request: Request) -> Key:
        """Return the sort key of a request: level, then arrival. `Shares.precedence` also weighs tenants."""
        return (self.queue.level(request), request.order)

    @property
    def num_loading(self) -> int:
        """Number of requests whose prefix is being loaded."""
        return len(self._loading)

    @property
    def num_holding(self) -> int:
        """Number of requests that have or will take a place in the batch: the running and the loading ones.

        A request that waits for a prefix does not count: it holds no blocks, and returns to the queue later.
        """
        return len(self.running) + len(self._loading)

    def shares(self, num_places: int) -> Shares:
        """Return each tenant's current share of the blocks and of the `num_places` places in the batch."""
        others, num_blocks = (*self._loading.values(), *self._restored.values()), self._blocks.pool.num_blocks
        return Shares(self.running, others, self.queue, num_places=num_places, num_blocks=num_blocks)

    @property
    def has_dropped(self) -> bool:
        """Whether there are requests that the worker has yet to drop."""
        return bool(self._dropped)

    def take_dropped(self) -> tuple[str, ...]:
        """Remove and return the ids of the requests that the worker drops in the next step."""
        dropped, self._dropped = tuple(self._dropped), []
        return dropped

    def drop_from_worker(self, request_ids: Iterable[str]) -> None:
        """Have the worker drop these requests in the next step."""
        self._dropped += request_ids

    def add(self, request: Request) -> None:
        """Add a new request: -> WAITING."""
        self._requests[request.request_id] = request
        # An answer that another process began is older than every request that arrived here, and its reader waits for
        # the next token.
        orders = self._earlier_orders if request.has_begun else self._orders
        request.order, request.wait_began = next(orders), request.arrival
        self.queue.add(request)
        self.deadlines.add(request)

    def start(self, request: Request, now: float) -> None:
        """Start an admitted request: WAITING or PREEMPTED -> RUNNING.

        A request that admission set to LOADING or WAITING_FOR_PREFIX keeps that status.
        """
        self._restored.pop(request.request_id, None)
        request.lack = None
        if request.status is RequestStatus.WAITING_FOR_PREFIX:
            # A request that waits for a prefix has not had its turn, so it keeps its place for when it is released.
            self.queue.remove(request)
            return
        self.queue.start(request, now)
        request.waited = now - request.wait_began
        self.deadlines.on_start(request)
        if request.on_place is not None:
            request.on_place()
        if request.status is RequestStatus.LOADING:
            request.timeline.enter(Phase.LOAD, now)
            self._loading[request.request_id] = request
        else:
            request.timeline.enter(Phase.PREFILL, now)
            request.status = RequestStatus.RUNNING
            self.running.add(request)

    def suspend(self, request: Request, now: float) -> None:
        """Suspend a request that keeps its blocks while more are loaded: RUNNING -> LOADING."""
        self.running.remove(request)
        self.forget_in_worker(request)
        request.status = RequestStatus.LOADING
        request.timeline.enter(Phase.LOAD, now)
        self._loading[request.request_id] = request

    def end_load(self, request: Request, now: float) -> None:
        """Return a request to the queue with the blocks that were loaded: LOADING -> WAITING."""
        del self._loading[request.request_id]
        request.status = RequestStatus.WAITING
        self._restored[request.request_id] = request
        self._requeue(request, now)

    def release_prefix_waiters(self) -> None:
        """Queue the requests whose leader has the common prefix or no longer computes it.

        WAITING_FOR_PREFIX -> WAITING.
        """
        for request in self.prefix_waiters.take_due():
            request.status = RequestStatus.WAITING
            self.queue.add(request)

    def preempt(self, request: Request, now: float) -> None:
        """Preempt a request and free its blocks: RUNNING -> PREEMPTED.

        The published blocks stay in the prefix cache until they are evicted, and in the tiers below.
        """
        self.running.remove(request)
        self._take_blocks(request)
        self.forget_in_worker(request)
        request.status = RequestStatus.PREEMPTED
        request.tiers_asked, request.restored = False, None
        self._requeue(request, now)
        self.num_preemptions += 1

    def lose_device(self, now: float) -> None:
        """Take the blocks of all running and waiting requests, after the device's memory was lost."""
        self.take_back([*self.running, *self._restored.values()], now)

    def holders_of(self, block_ids: Collection[int]) -> list[Request]:
        """List the running and the waiting requests with one of these blocks in their table."""
        if not block_ids:
            return []
        holding = (*self.running, *self._restored.values())
        return [request for request in holding if any(block.block_id in block_ids for block in request.blocks)]

    def take_back(self, requests: Iterable[Request], now: float) -> None:
        """Preempt running requests, and free the blocks of waiting ones, because the contents of their blocks are lost.

        A waiting request that was loaded before does not ask the tiers a second time: it computes its prompt. Loads in
        flight end by themselves.
        """
        for request in requests:
            # With no confirmed tokens, no partly filled block is left to be found.
            request.unconfirm()
            if request.status is RequestStatus.RUNNING:
                self.preempt(request, now)
            else:
                del self._restored[request.request_id]
                self._take_blocks(request)
                request.restored = None

    def reclaim_restored(self, *, exclude: Request) -> bool:
        """Free the restored blocks of the waiting request of the lowest rank, other than `exclude`.

        A waiting request must not keep blocks that a running one needs. Return False if no other waiting request has
        restored blocks.
        """
        others = [request for request in self._restored.values() if request is not exclude]
        if not others:
            return False
        last = max(others, key=self.sort_key)
        del self._restored[last.request_id]
        self._take_blocks(last)
        self.num_reclaims += 1
        return True

    def finish(self, request_id: str, reason: FinishReason) -> Request | None:
        """Finish a request in any state, and free its blocks for the next step: -> FINISHED.

        Return the request; None if it is unknown.
        """
        request = self._requests.pop(request_id, None)
        if request is None:
            return None
        match request.status:
            case RequestStatus.LOADING:
                del self._loading[request_id]
                # The blocks are freed once no copy can write to them.
                self._connector.abort(request)
            case RequestStatus.WAITING_FOR_PREFIX:
                self.prefix_waiters.drop(request)
                self._connector.forget_waiting(request)
            case RequestStatus.RUNNING:
                self.running.remove(request)
                self._connector.touch(request)
                if self._reuse is not None:
                    self._reuse.note(request)
                if self._phrases is not None:
                    self._phrases.add(request)
                self._hand_over_prompt(request)
                self._blocks.free(request)
            case _:
                self.queue.remove(request)
                self._connector.forget_waiting(request)
                self._restored.pop(request_id, None)
                self._hand_over_prompt(request)
                self._blocks.free(request)
        if request.keeps_kv:
            self.prefixes.add(request)
        self.forget_in_worker(request)
        self.deadlines.remove(request)
        if request.siblings:
            request.siblings.remove(request)
        request.status, request.finish_reason = RequestStatus.FINISHED, reason
        return request

    def _hand_over_prompt(self, request: Request) -> None:
        """Hand the prompt of `request`, which finishes, to a waiting sibling.

        The sibling may lose it again, like all restored blocks of waiting requests.
        """
        if request.siblings:
            self.release_prefix_waiters()
        if (heir := heir_of(request)) is not None:
            take_prompt(heir, request, self._blocks)
            self._restored[heir.request_id] = heir

    def _requeue(self, request: Request, now: float) -> None:
        request.timeline.enter(Phase.QUEUE, now)
        request.wait_began = now - request.waited
        self.queue.add(request)

    def _take_blocks(self, request: Request) -> None:
        self._blocks.free(request)
        request.reset()

    def forget_in_worker(self, request: Request) -> None:
        """Have the worker drop a request in the next step. If it is scheduled, the worker receives all its tokens."""
        if request.known_to_worker:
            self._dropped.append(request.request_id)
            request.known_to_worker = False
