"""Selection of the answers that get a token in a step that several tenants share.

A tenant with sixteen answers to one prompt would make each step longer for all tenants. While several tenants are
active, a step therefore has a time limit. Tenants share the time that remains after reading the weights. A tenant that
also has prompts spends half of its share on decodes, or more if its prompts leave time. The answers of one tenant take
turns within its share, so a tenant with many answers slows down only its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cache_tiers.owners.max_min import fair_shares
from engine.request.request import Request
from engine.scheduling.step_cost import StepCost

_MICROSECOND: Final = 1e-6


def decodes_of_tenants(
    cost: StepCost,
    seconds: float,
    decodes: Mapping[str, int],
    prompt_tokens: Mapping[str, int],
    weight_of: Callable[[str], float],
) -> dict[str, int]:
    """Return the number of decodes, at least 1, that each tenant may run in a step of `seconds`.

    decodes: number of running decodes by tenant.
    prompt_tokens: number of pending prompt tokens by tenant.
    """
    each, token = cost.each_decode_seconds, cost.token_seconds or 0.0
    if not each:
        return dict(decodes)
    for_prompts = {tenant: prompt_tokens.get(tenant, 0) * token for tenant in decodes}
    wanted = {tenant: int((count * each + for_prompts[tenant]) / _MICROSECOND) + 1 for tenant, count in decodes.items()}
    # A tenant that has only prompts still takes its share of the time.
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
    """Order in which answers were last scheduled, kept while a step cannot hold all of them."""

    def __init__(self) -> None:
        self._num_turns = 0
        self._went: dict[str, int] = {}

    def choose(
        self,
        decodes: Sequence[Request],
        rooms: Mapping[str, int],
        tenant_of: Callable[[Request], str],
        most: int | None = None,
        in_flight: Sequence[Request] = (),
    ) -> Sequence[Request]:
        """Select the least recently scheduled decodes of each tenant, and return them in the order of `decodes`.

        rooms: maximum number of decodes by tenant. most: maximum number of all of them; None: any.
        in_flight: decodes in other steps, which keep their turns.
        """
        if len(decodes) <= sum(rooms.values()):
            self._went.clear()
            return decodes[:most]
        went = self._went
        self._went = {each.request_id: went.get(each.request_id, 0) for each in (*decodes, *in_flight)}
        left, chosen = dict(rooms), set[str]()
        for request in sorted(decodes, key=lambda request: self._went[request.request_id]):
            if left[tenant := tenant_of(request)] and (most is None or len(chosen) < most):
                left[tenant] -= 1
                chosen.add(request.request_id)
                self._num_turns += 1
                self._went[request.request_id] = self._num_turns
        return [request for request in decodes if request.request_id in chosen]
