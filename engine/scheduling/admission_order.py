"""Order in which waiting requests start, and the pace at which they do."""

from collections.abc import Sequence
from math import ceil
from typing import Final

from engine.block_tables.block_manager import BlockManager
from engine.offload.interface import TierConnector
from engine.request.request import Request, RequestStatus
from engine.scheduling.admission import Admission
from engine.scheduling.block_allocation import BlockAllocation
from engine.scheduling.request_states import RequestStates
from engine.scheduling.shares import Shares

LONGEST_RETRY_SECONDS = 60
"""Longest Retry-After that OpenAI's clients follow."""
_REMEMBERED_STARTS = 64


class StartPace:
    """Mean seconds between two starts while requests wait, whatever they wait for. Older starts fade."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._starts = 0.0
        self._last: float | None = None

    def note(self, now: float, *, others_wait: bool) -> None:
        """Record that a request started.

        now: seconds on the scheduler's clock. others_wait: whether requests remain in the queue.
        """
        if self._last is not None:
            if self._starts >= _REMEMBERED_STARTS:
                self._seconds, self._starts = self._seconds / 2, self._starts / 2
            self._seconds += now - self._last
            self._starts += 1
        self._last = now if others_wait else None

    @property
    def seconds_each(self) -> float | None:
        """Mean seconds per start; None until a request has had to wait."""
        return self._seconds / self._starts if self._starts else None


def retry_after(num_waiting: int, seconds_each: float | None) -> int:
    """Return after how many seconds a refused request should be retried, from 1 to `LONGEST_RETRY_SECONDS`.

    By then half of the waiting requests should have started, so the queue has room and the server still has work.
    """
    if seconds_each is None:
        return 1
    return min(max(ceil(num_waiting * seconds_each / 2), 1), LONGEST_RETRY_SECONDS)


MAX_HELD_BACK_SECONDS: Final = 1.0
"""Maximum wait of a request in seconds, counted from the first step that held it back."""


class HeldBack:
    """Backpressure on tenants that produce blocks faster than the blocks can be offloaded.

    A queued request is held back while its blocks would evict blocks of its own tenant that are still on their way to a
    lower tier. The next step copies those blocks first, so the wait lasts a step or two. `MAX_HELD_BACK_SECONDS` limits
    the wait regardless of the state of the tiers. Requests are not held back while no lower tier is available, or while
    loading a block would cost more than recomputing it.
    """

    def __init__(self, connector: TierConnector) -> None:
        """Create the policy.

        connector: connection to the tiers below the device. Without any, no request is held back.
        """
        self._connector = connector
        self._holds_any = False

    def take_any(self) -> bool:
        """Return whether a request was held back since the last call, which makes offloading urgent."""
        holds_any, self._holds_any = self._holds_any, False
        return holds_any

    def holds(self, request: Request, now: float) -> bool:
        """Return whether `request` is held back at `now`. Requests of other tenants do not wait for it."""
        if request.is_fork or not self._connector.would_lose(request):
            return False
        if request.held_back_since is None:
            request.held_back_since = now
        if now - request.held_back_since >= MAX_HELD_BACK_SECONDS:
            return False
        self._holds_any = True
        return True


class AdmissionOrder:
    """Starter of waiting requests: which of them start in a step, and in which order.

    connector: connection to the tiers below the device. num_places: places in the batch.
    """

    def __init__(
        self,
        states: RequestStates,
        blocks: BlockManager,
        connector: TierConnector,
        admission: Admission,
        room: BlockAllocation,
        *,
        num_places: int,
    ) -> None:
        self._states = states
        self._blocks = blocks
        self._admission = admission
        self._room = room
        self._num_places = num_places
        self._queue = states.queue
        self._held_back = HeldBack(connector)
        self._pace = StartPace()

    @property
    def seconds_each(self) -> float | None:
        """Mean seconds per start while requests wait; None until a request has had to wait."""
        return self._pace.seconds_each

    def take_held_back(self) -> bool:
        """Return whether a request was held back since the last call, which makes offloading urgent."""
        return self._held_back.take_any()

    def start_below_share(self, now: float, standing: Sequence[Request]) -> None:
        """Start requests of tenants that hold less than their share, preempting requests of tenants that hold more.

        Call before running requests take blocks and become part of the step.

        standing: requests that lacked blocks in the previous step. Only a request that outranks all of them starts.
        """
        while (found := self._next_below_share(now, standing)) is not None:
            request, stoppable = found
            self._start(request, now)
            if request.status is not RequestStatus.WAITING_FOR_PREFIX and len(self._states.running) > self._num_places:
                self._room.stop_one(stoppable, 0, now)

    def _next_below_share(self, now: float, standing: Sequence[Request]) -> tuple[Request, list[Request]] | None:
        """Admit a waiting request; return it with the running ones that may be preempted for its place, or None."""
        if not len(self._queue):
            return None
        shares = self._states.shares(self._num_places)
        before = [shares.precedence(request) for request in standing if request in self._states.running]
        for request in self._queue.candidates(now):
            precedence = shares.precedence(request)
            if request.steps_in_flight or (before and min(before) < precedence) or self._held_back.holds(request, now):
                continue
            stoppable = self._stoppable_for(request, shares)
            if stoppable and self._admission.admit(request, now, stoppable):
                return request, stoppable
        return None

    def _stoppable_for(self, request: Request, shares: Shares) -> list[Request]:
        num_blocks = self._blocks.num_blocks_for(request.num_tokens)
        return [other for other in self._states.running if shares.may_begin_before(request, num_blocks, other)]

    def start_waiting(self, now: float) -> None:
        """Start requests in the order of the queue while places in the batch and free blocks are left."""
        while self._states.num_holding < self._num_places:
            request = self._next_waiting(now)
            if request is None:
                return
            self._start(request, now)

    def _next_waiting(self, now: float) -> Request | None:
        """Admit a waiting request and return it, or None. Only requests of a higher rank overtake an overdue one."""
        overdue: Request | None = None
        for request in self._queue.candidates(now):
            if overdue is not None and not self._precedes(request, overdue):
                continue
            if self._held_back.holds(request, now):
                continue
            if not request.steps_in_flight and self._admit(request, now):
                return request
            if self._queue.is_overdue(request, now):
                overdue = request
        return None

    def _precedes(self, request: Request, other: Request) -> bool:
        shares = self._states.shares(self._num_places)
        return shares.precedence(request) < shares.precedence(other)

    def _admit(self, request: Request, now: float) -> bool:
        """Admit `request`; return False if it must wait for the blocks of running requests.

        If no request runs, restored blocks of other waiting requests are taken back to make room.
        """
        while not self._admission.admit(request, now):
            if self._states.running or not self._states.reclaim_restored(exclude=request):
                return False
        return True

    def _start(self, request: Request, now: float) -> None:
        """Start an admitted request."""
        self._states.start(request, now)
        if request.status is not RequestStatus.WAITING_FOR_PREFIX:
            self._pace.note(now, others_wait=len(self._queue) > 0)
