"""Reports of how far the prompts of requests are computed, for the requests that ask for them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.api.outputs import PromptProgress, PromptState, RequestOutput
from engine.request.request import Request, RequestStatus
from engine.scheduling.step_cost import StepCost

LEAST_KEYS: Final = 2000
"""Least number of keys that take as long as the rest of a token, for any model."""


@dataclass(slots=True, kw_only=True)
class _Followed:
    """A request whose prompt is not computed yet. All times are on the scheduler's clock.

    every: seconds between two reports.
    due: when the next report may be made.
    num_produced: tokens of the answer that another process generated.
    last: the last report; None before the first one.
    since, base: begin of the computation without a pause, and the tokens done by then; None outside of it.
    reused: tokens that were not computed, by then.
    """

    every: float
    due: float
    num_produced: int
    last: PromptProgress | None = None
    since: float | None = None
    base: int = 0
    reused: int = 0


class ProgressReports:
    """Owner of the progress of each prompt that is followed, until its request has a new token or ends.

    A report never says less than the one before, although a preempted request computes tokens again.
    """

    def __init__(self, find: Callable[[str], Request | None], clock: Callable[[], float]) -> None:
        """Follow no request yet.

        find: returns a request that has not ended, by its id.
        """
        self._find = find
        self._clock = clock
        self._followed: dict[str, _Followed] = {}

    def __len__(self) -> int:
        return len(self._followed)

    def follow(self, request: Request, every: float) -> None:
        """Report the progress of a queued request, at most once in `every` seconds and not before they have passed."""
        self._followed[request.request_id] = _Followed(
            every=every, due=self._clock() + every, num_produced=len(request.output_token_ids)
        )

    def take(self, cost: StepCost | None) -> list[RequestOutput]:
        """Return the reports that are due. Call after a step has been applied, before its tokens are processed.

        cost: costs of a step by the length of the context; None if unknown.
        """
        now, outputs = self._clock(), list[RequestOutput]()
        for request_id, followed in list(self._followed.items()):
            request = self._find(request_id)
            if request is None:
                del self._followed[request_id]
                continue
            progress = _progress(request, followed, now, cost)
            if len(request.output_token_ids) > followed.num_produced:
                del self._followed[request_id]
            if now >= followed.due and _is_news(progress, followed.last):
                followed.last, followed.due = progress, now + followed.every
                outputs.append(RequestOutput(request_id=request_id, text="", token_ids=(), progress=(progress,)))
        return outputs


def _is_news(progress: PromptProgress, last: PromptProgress | None) -> bool:
    return last is None or progress.done > last.done or progress.state != last.state


def _progress(request: Request, followed: _Followed, now: float, cost: StepCost | None) -> PromptProgress:
    total = request.num_prompt_tokens + followed.num_produced
    reused = request.receipt.reused if request.receipt is not None else Counter()
    state = _state(request)
    is_computed = len(request.output_token_ids) > followed.num_produced
    done = total if is_computed else min(request.num_confirmed_tokens, total)
    before = followed.last.done if followed.last is not None else 0
    return PromptProgress(
        total,
        max(done, before),
        Counter(reused),
        state,
        now - request.started if request.started is not None else 0.0,
        _seconds_left(
            followed=followed, state=state, done=done, total=total, reused=reused.total(), now=now, cost=cost
        ),
    )


def _state(request: Request) -> PromptState:
    match request.status:
        case RequestStatus.LOADING:
            return "loading"
        case RequestStatus.RUNNING | RequestStatus.FINISHED:
            return "computing"
        case _:
            return "waiting"


def _seconds_left(
    *, followed: _Followed, state: PromptState, done: int, total: int, reused: int, now: float, cost: StepCost | None
) -> float | None:
    """Estimate the time of the rest from the time that this prompt took so far; None if it has computed nothing yet.

    Later tokens attend to more keys. The costs of a step say by how much they are slower.
    """
    if state != "computing":
        followed.since = None
        return None
    if followed.since is None or reused != followed.reused:
        followed.since, followed.base, followed.reused = now, done, reused
    if done <= followed.base:
        return None
    return (now - followed.since) * _work(done, total, cost) / _work(followed.base, done, cost)


def _work(start: int, stop: int, cost: StepCost | None) -> float:
    """Return the work of computing positions [start, stop), in units of a token without keys before it."""
    each = cost.token_seconds if cost is not None else None
    if cost is None or each is None:
        return stop - start
    # Equal steps do not tell the two costs apart, so that all of the time may be attributed to the keys.
    by_key = min(cost.key_seconds / each, 1 / LEAST_KEYS) if each else 1 / LEAST_KEYS
    return (stop - start) * (1 + by_key * (start + stop) / 2)
