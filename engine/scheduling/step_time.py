"""Time budget of a step, and its division among tenants.

While a single tenant is active, a step holds one token of each of its answers, and prompt tokens in the remaining time.
While several tenants are or recently were active, a step has a time limit, and the tenants share that time.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from engine.request.request import Request
from engine.scheduling.queue.request_queue import RequestQueue
from engine.scheduling.step_cost import StepCost
from engine.scheduling.step_share import (
    WEIGHT_AHEAD,
    Bursts,
    Claim,
    DecodeTurns,
    RecentTenants,
    decodes_of_tenants,
    divide,
)
from engine.scheduling.step_size import AUTO_STRETCH, prompt_tokens_alongside

SHARED_STEP_SECONDS: Final = 0.025
"""Default time of a step that several tenants share. A tenant's turn waits for half a step on average, or for one and a
half if the next step was scheduled before it arrived.
"""

RECENT_SECONDS: Final = 300.0
"""Seconds for which steps stay short after a tenant's last request: a person may still be reading the answer."""


class StepTime:
    """Division of each step's time. In each step, call the methods from `shared_seconds` on once, in their order.

    cost: learned cost of a step, a decode and a prompt token.
    """

    def __init__(self, queue: RequestQueue, target_seconds: float) -> None:
        """Create the budget for the requests of `queue`.

        target_seconds: maximum seconds of a step with running streams or several tenants; 0 means `AUTO_STEP_SECONDS`
            or `SHARED_STEP_SECONDS`, or more.
        """
        self.cost = StepCost()
        self._queue = queue
        self._target_seconds = target_seconds
        self._recent = RecentTenants(RECENT_SECONDS)
        self._decode_turns = DecodeTurns()
        self._bursts = Bursts()

    def on_arrival(self, request: Request, now: float) -> None:
        """Record the arrival of `request` at `now`."""
        self._recent.note(self._queue.tenant_of(request), now)

    def shared_seconds(self, running: Iterable[Request], now: float) -> float | None:
        """Return the maximum seconds of a step that tenants share; None while a single tenant is active.

        If reading the weights is slow, the limit exceeds the target, so that half of the step is left for tokens.
        """
        tenants = {self._queue.tenant_of(request) for request in running}
        if len(tenants) <= 1 and not self._recent.are_several(now):
            return None
        return max(self._target_seconds or SHARED_STEP_SECONDS, AUTO_STRETCH * self.cost.step_seconds)

    def choose_decodes(
        self,
        decodes: Sequence[Request],
        prompts: Iterable[Request],
        seconds: float | None,
        most: int | None = None,
        in_flight: Sequence[Request] = (),
    ) -> Sequence[Request]:
        """Return the requests of `decodes` that get a token in this step, at most `most` if that is set.

        prompts: requests that have prompt tokens to compute.
        seconds: the step's time limit from `shared_seconds`; None means no limit.
        in_flight: decodes that other steps have, so that this one cannot.
        """
        if seconds is None:
            return decodes[:most]
        tenant_of = self._queue.tenant_of
        counts, tokens = Counter(tenant_of(request) for request in decodes), Counter[str]()
        for request in prompts:
            tokens[tenant_of(request)] += request.num_pending_tokens
        ahead = self._bursts.ahead(tokens)
        # The prompts of a returning tenant need no whole step, so the others' decodes do not fill one.
        seconds_of_decodes = seconds / 2 if ahead else seconds
        rooms = decodes_of_tenants(self.cost, seconds_of_decodes, counts, tokens, self._weight_ahead(ahead))
        return self._decode_turns.choose(decodes, rooms, tenant_of, most, in_flight)

    def prompt_tokens(self, num_decodes: int, seconds: float | None, room: int, prompts: Sequence[Request] = ()) -> int:
        """Return the number of prompt tokens, at most `room`, that fit into the step alongside `num_decodes` decodes.

        prompts: requests that have prompt tokens to compute.
        seconds: the step's time limit from `shared_seconds`.
        """
        context = _mean_context(prompts)
        if seconds is None:
            resumes = any(request.has_begun for request in prompts)
            return prompt_tokens_alongside(self.cost, num_decodes, self._target_seconds, room, context, resumes=resumes)
        # A request of another tenant may arrive at any time and wait for this step, as a stream would.
        return prompt_tokens_alongside(self.cost, max(num_decodes, 1), seconds, room, context)

    def divide_prompts(
        self, claims: Sequence[Claim], room: int, num_decodes: int, seconds: float | None
    ) -> dict[str, int]:
        """Divide `room` prompt tokens among `claims`, and return the tokens of each request id that gets some.

        A shared step keeps to its time: the prompts that get tokens may have more keys before them than the others.

        seconds: the step's time limit from `shared_seconds`.
        """
        first = self._bursts.first(claim.tenant for claim in claims)
        claims = [claim for claim in claims if claim.tenant in first]
        chunks = divide(room, claims, self._queue.weight_of)
        if seconds is None or not chunks:
            return chunks
        context = sum(chunks.get(claim.request_id, 0) * claim.context for claim in claims) // sum(chunks.values())
        fitting = prompt_tokens_alongside(self.cost, max(num_decodes, 1), seconds, room, context)
        return chunks if fitting >= sum(chunks.values()) else divide(fitting, claims, self._queue.weight_of)

    def _weight_ahead(self, ahead: Container[str]) -> Callable[[str], float]:
        """Return a weight function that favors the tenants `ahead`, which have saved a step."""
        return lambda tenant: self._queue.weight_of(tenant) * (WEIGHT_AHEAD if tenant in ahead else 1.0)


def _mean_context(prompts: Iterable[Request]) -> int:
    """Return the mean number of computed tokens before a pending token of `prompts`."""
    pending, weighted = 0, 0
    for request in prompts:
        pending += request.num_pending_tokens
        weighted += request.num_pending_tokens * request.num_computed_tokens
    return weighted // pending if pending else 0
