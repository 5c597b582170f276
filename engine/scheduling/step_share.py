"""Shares of tenants in a step: its prompt tokens, its decodes, and the steps that an idle tenant has saved."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cache_tiers.owners.fair_division import fair_shares
from engine.request.request import Request
from engine.scheduling.step_cost import StepCost


class RecentTenants:
    """Tenants that sent a request within the last `seconds`.

    While there are several, a step leaves room for requests that another one may send.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._asked: OrderedDict[str, float] = OrderedDict()

    def note(self, tenant: str, now: float) -> None:
        """Record a request of `tenant` at `now`, and forget tenants that are no longer recent."""
        self._asked[tenant] = now
        self._asked.move_to_end(tenant)
        self._forget(now)

    def are_several(self, now: float) -> bool:
        """Return whether more than one tenant sent a request recently."""
        self._forget(now)
        return len(self._asked) > 1

    def _forget(self, now: float) -> None:
        while self._asked and next(iter(self._asked.values())) < now - self._seconds:
            self._asked.popitem(last=False)


MAX_SAVED: Final = 2.0
"""Maximum number of steps that a tenant can save."""
SAVED_PER_STEP: Final = 0.5
"""Steps saved per step in which a tenant has no prompt to compute and another tenant has one."""
MAX_IN_A_ROW: Final = 2
"""Maximum number of consecutive exclusive steps before a step is shared by all tenants.

Without this limit, many tenants that come and go could together starve one that always has prompts.
"""

WEIGHT_AHEAD: Final = 3.0
"""Factor on the weight of a tenant that has saved a step, when step time is divided between prompts and decodes."""


class Bursts:
    """Burst credit: saved steps per tenant, for its prompts alone.

    If every step were shared equally, a short prompt that competes with a flood of prompts would take several long
    steps. An idle tenant therefore saves steps, and spends them on its next prompts. A tenant that always has prompts
    saves none. An interactive user hardly notices a flooding tenant, and the flood loses only a few steps that it
    gained before.
    """

    def __init__(self) -> None:
        # Tenants that are missing here have MAX_SAVED steps.
        self._saved: dict[str, float] = {}
        self._in_a_row = 0

    def ahead(self, tenants: Iterable[str]) -> set[str]:
        """Return those of `tenants` that have saved a step, or none if the next step is shared by all tenants."""
        return set() if self._in_a_row == MAX_IN_A_ROW else {each for each in tenants if self._may_be_first(each)}

    def first(self, tenants: Iterable[str]) -> set[str]:
        """Select the tenants whose prompts this step computes, and charge those that spend a saved step.

        tenants: all tenants that have prompt tokens to compute.
        """
        present = set(tenants)
        for tenant in self._saved.keys() - present:
            self._saved[tenant] += SAVED_PER_STEP
            if self._saved[tenant] >= MAX_SAVED:
                del self._saved[tenant]
        ahead = {tenant for tenant in present if self._may_be_first(tenant)}
        for tenant in ahead:
            self._saved[tenant] = self._saved.get(tenant, MAX_SAVED) - 1
        if not ahead or ahead == present or self._in_a_row == MAX_IN_A_ROW:
            self._in_a_row = 0
            return present
        self._in_a_row += 1
        return ahead

    def _may_be_first(self, tenant: str) -> bool:
        return self._saved.get(tenant, MAX_SAVED) >= 1


_MICROSECOND: Final = 1e-6


def decodes_of_tenants(
    cost: StepCost,
    seconds: float,
    decodes: Mapping[str, int],
    prompt_tokens: Mapping[str, int],
    weight_of: Callable[[str], float],
) -> dict[str, int]:
    """Return the number of decodes, at least 1, that each tenant may run in a step of `seconds`.

    A tenant with sixteen answers to one prompt would make each step longer for all tenants. While several tenants are
    active, a step therefore has a time limit. Tenants share the time that remains after reading the weights. A tenant
    that also has prompts spends half of its share on decodes, or more if its prompts leave time.

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
    """Order in which answers were last scheduled, kept while a step cannot hold all of them.

    The answers of one tenant take turns within its share, so a tenant with many answers slows down only its own.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A prompt in the batch.

    An answer that has begun goes before new prompts that are as urgent. After the death of another process, or after a
    preemption, the context is computed again, while a reader waits in the middle of a text.

    tokens: maximum number of prompt tokens that this step may compute.
    context: number of computed tokens before them.
    left: number of prompt tokens still to be computed, in this step and later ones, by this request or by a shorter one
        that waits for its prefix.
    urgency: among prompts of the same tenant, the smallest value is served first.
    order: sequence number of the arrival, across all tenants.
    has_begun: whether the answer has a token already.
    """

    request_id: str
    tenant: str
    tokens: int
    context: int
    left: int
    urgency: float
    order: int
    has_begun: bool = False


def divide(room: int, claims: Sequence[Claim], weight: Callable[[str], float]) -> dict[str, int]:
    """Divide `room` tokens among `claims`, and return tokens by request id without requests that get none.

    Half of a tenant's share goes to its oldest prompt, so short prompts cannot starve a long one. The rest goes to the
    most urgent prompts first, and among equally urgent ones to answers that have begun, and then to the one with the
    fewest remaining tokens.
    """
    by_tenant: dict[str, list[Claim]] = {}
    for claim in sorted(claims, key=lambda claim: claim.order):
        by_tenant.setdefault(claim.tenant, []).append(claim)
    # If there are more tenants than tokens, the tenants with the oldest prompts are served.
    wanted = {tenant: sum(claim.tokens for claim in own) for tenant, own in islice(by_tenant.items(), room)}
    chunks: dict[str, int] = {}
    for tenant, share in fair_shares(room, wanted, weight).items():
        chunks |= _within_tenant(share, by_tenant[tenant])
    return chunks


def _within_tenant(share: int, claims: Sequence[Claim]) -> dict[str, int]:
    """Divide a tenant's `share` of tokens among its `claims`, which are sorted by arrival."""
    oldest = claims[0]
    chunks = {oldest.request_id: min(oldest.tokens, -(-share // 2))}
    left = share - chunks[oldest.request_id]
    for claim in sorted(claims, key=lambda claim: (claim.urgency, not claim.has_begun, claim.left, claim.order)):
        before = chunks.get(claim.request_id, 0)
        more = min(claim.tokens - before, left)
        if more:
            chunks[claim.request_id] = before + more
            left -= more
    return {request_id: tokens for request_id, tokens in chunks.items() if tokens}
