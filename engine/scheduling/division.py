"""How the prompt tokens of a step are divided: between tenants by weight, within one by what is left of a prompt."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Claim:
    """A prompt in the batch.

    tokens: the most that this step may compute of the prompt. left: what is still to be computed of the prompt in all.
    urgency: among the prompts of one tenant the smaller goes first. order: number among all arrivals.
    """

    request_id: str
    tenant: str
    tokens: int
    left: int
    urgency: float
    order: int


def divide(room: int, claims: Sequence[Claim], weight: Callable[[str], float]) -> dict[str, int]:
    """Divide `room` tokens among `claims`; returns tokens by request id, without requests that get none.

    Half of a tenant's share goes to the oldest of its prompts, so that short ones cannot hold up a long one for ever.
    The rest goes to the most urgent, and among equals to the prompt with the shortest remainder.
    """
    by_tenant: dict[str, list[Claim]] = {}
    for claim in sorted(claims, key=lambda claim: claim.order):
        by_tenant.setdefault(claim.tenant, []).append(claim)
    # Where there are more tenants than tokens, the tenants with the oldest prompts go first.
    wanted = {tenant: sum(claim.tokens for claim in own) for tenant, own in islice(by_tenant.items(), room)}
    chunks: dict[str, int] = {}
    for tenant, share in fair_shares(room, wanted, weight).items():
        chunks |= _within_tenant(share, by_tenant[tenant])
    return chunks


def fair_shares(room: int, wanted: Mapping[K, int], weight: Callable[[K], float]) -> dict[K, int]:
    """Share `room` by weight, no tenant getting more than it wants: what one leaves is shared by the others.

    This is weighted max-min fairness, computed by serving tenants in the order in which they are satisfied.
    """
    shares: dict[K, int] = {}
    weights = {tenant: weight(tenant) for tenant in wanted}
    left, weight_left = room, sum(weights.values())
    for tenant in sorted(wanted, key=lambda tenant: wanted[tenant] / weights[tenant]):
        fair = max(1, round(left * weights[tenant] / weight_left))
        shares[tenant] = min(wanted[tenant], fair, left)
        left -= shares[tenant]
        weight_left -= weights[tenant]
    return shares


def _within_tenant(share: int, claims: Sequence[Claim]) -> dict[str, int]:
    """Divide a tenant's share among its `claims`, which are in the order of arrival."""
    oldest = claims[0]
    chunks = {oldest.request_id: min(oldest.tokens, -(-share // 2))}
    left = share - chunks[oldest.request_id]
    for claim in sorted(claims, key=lambda claim: (claim.urgency, claim.left, claim.order)):
        before = chunks.get(claim.request_id, 0)
        more = min(claim.tokens - before, left)
        if more:
            chunks[claim.request_id] = before + more
            left -= more
    return {request_id: tokens for request_id, tokens in chunks.items() if tokens}
