"""Division of a step's prompt tokens: among tenants by weight, within a tenant by age, urgency and remaining tokens.

An answer that has begun goes before new prompts that are as urgent. After the death of another process, or after a
preemption, the context is computed again, while a reader waits in the middle of a text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from cache_tiers.owners.max_min import fair_shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A prompt in the batch.

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
