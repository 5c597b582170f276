"""The time of a step, and what each tenant has of it.

While one tenant is alone, a step holds a token of all its answers, and prompts in the time that is left. While several
tenants are there, or one of them may be back at any time, the step keeps to a time that the tenants share.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from engine.request import Request
from engine.scheduling.bursts import WEIGHT_AHEAD, Bursts
from engine.scheduling.chunking import AUTO_STEP_SECONDS, AUTO_STRETCH, prompt_tokens_beside
from engine.scheduling.decode_turns import DecodeTurns, decodes_of_tenants
from engine.scheduling.division import Claim, divide
from engine.scheduling.queue.request_queue import RequestQueue
from engine.scheduling.recent_tenants import RecentTenants
from engine.scheduling.step_cost import StepCost

RECENT_SECONDS: Final = 300.0
"""Seconds for which steps stay short after another tenant's last request: a person may still be reading its answer."""


class StepTime:
    """Divides the time of each step. To be asked in the order of the methods, once a step.

    cost: what the parts of a step cost.
    """

    def __init__(self, queue: RequestQueue, target_seconds: float) -> None:
        """target_seconds: how long a step with running streams may take; 0 means `AUTO_STEP_SECONDS` or more."""
        self.cost = StepCost()
        self._queue = queue
        self._target_seconds = target_seconds
        self._recent = RecentTenants(RECENT_SECONDS)
        self._decode_turns = DecodeTurns()
        self._bursts = Bursts()

    def arrived(self, request: Request, now: float) -> None:
        """Note a request, when it arrives."""
        self._recent.note(self._queue.tenant_of(request), now)

    def shared_seconds(self, running: Iterable[Request], now: float) -> float | None:
        """Return how long a step may take that tenants share; None if there is one tenant alone.

        Longer than the target where reading the weights takes long: half of a step goes to what it holds.
        """
        tenants = {self._queue.tenant_of(request) for request in running}
        if len(tenants) <= 1 and not self._recent.are_several(now):
            return None
        return max(self._target_seconds or AUTO_STEP_SECONDS, AUTO_STRETCH * self.cost.step_seconds)

    def choose_decodes(
        self, decodes: Sequence[Request], prompts: Iterable[Request], seconds: float | None
    ) -> Sequence[Request]:
        """Return those of `decodes` that get a token in a step of so many seconds.

        prompts: the requests that have prompt tokens to compute. seconds: as `shared_seconds` returned them.
        """
        if seconds is None:
            return decodes
        tenant_of = self._queue.tenant_of
        counts, tokens = Counter(tenant_of(request) for request in decodes), Counter[str]()
        for request in prompts:
            tokens[tenant_of(request)] += request.num_pending_tokens
        rooms = decodes_of_tenants(self.cost, seconds, counts, tokens, self._weight_ahead(tokens))
        return self._decode_turns.choose(decodes, rooms, tenant_of)

    def prompt_tokens(self, num_decodes: int, seconds: float | None, room: int) -> int:
        """Return how many prompt tokens, at most `room`, there is time for alongside so many decodes."""
        if seconds is None:
            return prompt_tokens_beside(self.cost, num_decodes, self._target_seconds, room)
        # A turn of another tenant may come at any time: it waits for the current step, as a stream would.
        return prompt_tokens_beside(self.cost, max(num_decodes, 1), seconds, room)

    def divide_prompts(self, claims: Sequence[Claim], room: int) -> dict[str, int]:
        """Divide `room` prompt tokens among `claims`; returns tokens by request id, without requests that get none."""
        first = self._bursts.first(claim.tenant for claim in claims)
        return divide(room, [claim for claim in claims if claim.tenant in first], self._queue.weight_of)

    def _weight_ahead(self, tenants: Iterable[str]) -> Callable[[str], float]:
        """Weigh those of `tenants`, which have prompts, that have saved a step."""
        ahead = {tenant for tenant in tenants if self._bursts.may_be_first(tenant)}
        return lambda tenant: self._queue.weight_of(tenant) * (WEIGHT_AHEAD if tenant in ahead else 1.0)
