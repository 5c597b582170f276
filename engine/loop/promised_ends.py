"""Last outputs of requests whose KV is to be promised: they wait for the promise, for a moment."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cache_tiers.lower.promise import Promised, PromiseEnd, PromiseTerms
from engine.api.outputs import RequestOutput
from engine.api.promise import DeclineReason, PromiseReport
from engine.loop.core import EngineCore
from engine.request.request import Request
from engine.scheduling.scheduler import Scheduler

LONGEST_WAIT_SECONDS: Final = 0.2
"""Longest time by which a promise delays the end of an answer."""
_MARGIN_SECONDS: Final = 0.01
"""Time in which the tier's last answer reaches the output."""
REASONS: Final[Mapping[PromiseEnd, DeclineReason]] = {
    "no_tier": "no_disk",
    "away": "disk_away",
    "read_only": "disk_read_only",
    "no_room": "reservation_full",
    "absent": "not_written",
}
"""The reason that a client learns, for each end of a promised chain."""


@dataclass(frozen=True, slots=True)
class _Held:
    request: Request
    output: RequestOutput
    most_blocks: int
    ends_at: float


class PromisedEnds:
    """Owner of the last outputs that wait. `clock` returns seconds.

    held: these outputs, by the identity of their requests.
    """

    def __init__(self, core: EngineCore, *, clock: Callable[[], float]) -> None:
        self.held: dict[str, _Held] = {}
        self._core = core
        self._clock = clock

    def hold(self, request: Request, output: RequestOutput) -> RequestOutput | None:
        """Hold the last output of a complete answer until its promise is known. Return the output if nothing waits."""
        promise = request.promise
        if promise is None or output.usage is None or output.finish_reason not in ("stop", "length"):
            return output
        size = self._core.scheduler.blocks.block_size
        most_blocks = min(promise.num_tokens, request.num_prompt_tokens) // size
        held = _Held(request, output, most_blocks, self._clock() + LONGEST_WAIT_SECONDS)
        if (reason := _refusal(request, most_blocks)) is not None:
            return _reported(held, size, 0, reason)
        keys = request.keys_to_promise(size)
        terms = PromiseTerms(promise.seconds, promise.reserved_bytes)
        patience = LONGEST_WAIT_SECONDS - _MARGIN_SECONDS

        def begin(scheduler: Scheduler) -> None:
            scheduler.connector.promise(request.request_id, keys, terms, patience)

        self._core.ask(begin, otherwise=None)
        self.held[request.request_id] = held
        return next(iter(self.take()), None) if len(self.held) == 1 else None

    def take(self) -> list[RequestOutput]:
        """Return the outputs whose promise is known by now, or that have waited long enough."""
        taken = [output for held in list(self.held.values()) if (output := self._ended(held)) is not None]
        for output in taken:
            del self.held[output.request_id]
        return taken

    def _ended(self, held: _Held) -> RequestOutput | None:
        def take(scheduler: Scheduler) -> Promised | None:
            return scheduler.connector.take_promised(held.request.request_id)

        promised = self._core.ask(take, otherwise=None)
        if promised is None:
            if self._clock() < held.ends_at:
                return None
            promised = Promised(0, "away")
        reason = REASONS[promised.end] if promised.end is not None else None
        return _reported(held, self._core.scheduler.blocks.block_size, promised.num_blocks, reason)


def _refusal(request: Request, most_blocks: int) -> DeclineReason | None:
    """Return why nothing of a request can be promised; None if the tier decides."""
    assert request.promise is not None
    if not most_blocks:
        return "too_short"
    if not request.keeps_kv or len(request.block_keys) < most_blocks:
        return "not_kept"
    return None if request.promise.reserved_bytes else "no_reservation"


def _reported(held: _Held, block_size: int, num_blocks: int, reason: DeclineReason | None) -> RequestOutput:
    """Return the output with the report of the promise in its receipt."""
    promise, usage = held.request.promise, held.output.usage
    assert promise is not None
    assert usage is not None
    left = held.most_blocks - num_blocks
    until = time.time() + promise.seconds
    report = PromiseReport(num_blocks * block_size, left * block_size, promise.seconds, until, reason)
    return replace(held.output, usage=replace(usage, kv=replace(usage.kv, promise=report)))
