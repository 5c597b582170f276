"""Which answers get a token in a step that has no time for all of them, because several tenants share it.

Sixteen answers to one prompt make a step longer for everybody. While several tenants are there, a step keeps to its
time. Apart from reading the weights, that time is shared by the tenants, and a tenant that has prompts as well spends
half of its part on decodes at most. The answers of one tenant take turns. So a tenant with many answers slows down its
own, and no other tenant's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from engine.request import Request
from engine.scheduling.division import fair_shares
from engine.scheduling.step_cost import StepCost

_MICROSECOND: Final = 1e-6


def decodes_of_tenants(
    cost: StepCost,
    seconds: float,
    decodes: Mapping[str, int],
    prompt_tokens: Mapping[str, int],
    weight_of: Callable[[str], float],
) -> dict[str, int]:
    """Return how many decodes of each tenant, at least 1, a step of `seconds` holds.

    decodes, prompt_tokens: what there is to compute of each tenant.
    """
    each, token = cost.each_decode_seconds, cost.token_seconds or 0.0
    if not each:
        return dict(decodes)
    for_prompts = {tenant: prompt_tokens.get(tenant, 0) * token for tenant in decodes}
    wanted = {tenant: int((count * each + for_prompts[tenant]) / _MICROSECOND) + 1 for tenant, count in decodes.items()}
    # A tenant that has prompts alone takes its part of the time, too.
    wanted |= {
        tenant: int(count * token / _MICROSECOND) + 1
        for tenant, count in prompt_tokens.items()
        if tenant not in decodes
    }
    parts = fair_shares(max(1, int((seconds - cost.step_seconds) / _MICROSECOND)), wanted, weight_of)
    rooms = dict[str, int]()
    for tenant, count in decodes.items():
        part = parts[tenant] * _MICROSECOND
        rooms[tenant] = min(count, max(1, round(max(part / 2, part - for_prompts[tenant]) / each)))
    return rooms


class DecodeTurns:
    """Remembers when each answer had its last turn, while not all of them fit."""

    def __init__(self) -> None:
        self._num_turns = 0
        self._went: dict[str, int] = {}

    def choose(
        self, decodes: Sequence[Request], rooms: Mapping[str, int], tenant_of: Callable[[Request], str]
    ) -> Sequence[Request]:
        """Return `decodes` in their order, of each tenant at most as many as it has room for: those whose last turn is
        longest ago."""
        if len(decodes) <= sum(rooms.values()):
            self._went.clear()
            return decodes
        self._went = {request.request_id: self._went.get(request.request_id, 0) for request in decodes}
        left, chosen = dict(rooms), set[str]()
        for request in sorted(decodes, key=lambda request: self._went[request.request_id]):
            if left[tenant := tenant_of(request)]:
                left[tenant] -= 1
                chosen.add(request.request_id)
                self._num_turns += 1
                self._went[request.request_id] = self._num_turns
        return [request for request in decodes if request.request_id in chosen]
