"""Turns of waiting requests: which of them start in a step, and in which order."""

from collections.abc import Sequence

from engine.block_tables.block_manager import BlockManager
from engine.offload.interface import TierConnector
from engine.request.request import Request, RequestStatus
from engine.scheduling.admission import Admission
from engine.scheduling.held_back import HeldBack
from engine.scheduling.overload import TurnPace
from engine.scheduling.request_states import RequestStates
from engine.scheduling.room import Room
from engine.scheduling.shares import Shares


class Turns:
    """Starter of waiting requests.

    connector: connection to the tiers below the device. num_places: places in the batch.
    """

    def __init__(
        self,
        states: RequestStates,
        blocks: BlockManager,
        connector: TierConnector,
        admission: Admission,
        room: Room,
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
        self._pace = TurnPace()

    @property
    def seconds_each(self) -> float | None:
        """Mean seconds per turn while requests wait; None until a request has had to wait."""
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
        ranks = [shares.rank(request) for request in standing if request in self._states.running]
        for request in self._queue.candidates(now):
            rank = shares.rank(request)
            if request.steps_in_flight or (ranks and min(ranks) < rank) or self._held_back.holds(request, now):
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
            if overdue is not None and not self._ranks_before(request, overdue):
                continue
            if self._held_back.holds(request, now):
                continue
            if not request.steps_in_flight and self._admit(request, now):
                return request
            if self._queue.is_overdue(request, now):
                overdue = request
        return None

    def _ranks_before(self, request: Request, other: Request) -> bool:
        shares = self._states.shares(self._num_places)
        return shares.rank(request) < shares.rank(other)

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
