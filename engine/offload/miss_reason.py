"""Reasons why reuse of a prefix ended, from the tiers' answer about the first block that was not loaded.

`gone_from` lists the tiers that had that block and no longer have it.
"""

from collections.abc import Iterable

from cache_tiers.lower.misses import TierMiss, TierMissReason
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.moves.loads import LoadEnd
from cache_tiers.tier import TierId
from engine.api.outputs import MissReason


def end_without_look_up(lower: Iterable[LowerTierStats], gone_from: tuple[TierId, ...]) -> MissReason:
    """Explain a block that was not looked up in any lower tier, because all that are on are unavailable."""
    states = [f"{stats.tier.name} was skipped: {stats.state}" for stats in lower if stats.is_on]
    if states:
        return MissReason("breaker_open", "; ".join(states), gone_from)
    return MissReason("evicted", "the block had been evicted from every tier", gone_from)


def end_not_worth(
    load_seconds: float | None, compute_seconds: float | None, gone_from: tuple[TierId, ...]
) -> MissReason:
    """Explain a block that was not loaded because computing was expected to be faster.

    load_seconds, compute_seconds: expected times; None if not known.
    """
    figures = ""
    if load_seconds is not None and compute_seconds is not None:
        figures = f" (about {load_seconds * 1e3:.0f} ms against {compute_seconds * 1e3:.0f} ms)"
    return MissReason(
        "not_worth_loading",
        f"loading the block would have taken longer than computing it{figures}",
        gone_from,
    )


def reason_of_load(end: LoadEnd, missing: TierMiss, gone_from: tuple[TierId, ...]) -> MissReason:
    """Explain a load that ended before its last block.

    missing: the lower tiers' answer about the first block that was not loaded.
    """
    match end:
        case LoadEnd.TOO_SLOW:
            return MissReason("not_worth_loading", "loading was so slow that computing the rest was faster", gone_from)
        case LoadEnd.COPY_FAILED:
            return MissReason("not_brought", "the copy to the device failed", gone_from)
        case _:
            return reason_of_miss(missing, gone_from)


def reason_of_miss(missing: TierMiss, gone_from: tuple[TierId, ...]) -> MissReason:
    """Explain a block that no lower tier had or could supply."""
    detail, gone_from = missing.text, (*gone_from, *missing.gone_from)
    match missing.reason:
        case TierMissReason.OFF | TierMissReason.GONE | TierMissReason.UNKNOWN_KEY:
            return MissReason("evicted", detail, gone_from)
        case TierMissReason.UNWRITTEN | TierMissReason.DROPPED:
            return MissReason("evicted", detail, gone_from)
        case TierMissReason.REJECTED:
            return MissReason("rejected", detail, gone_from)
        case TierMissReason.SKIPPED | TierMissReason.NO_ANSWER:
            return MissReason("breaker_open", detail, gone_from)
        case TierMissReason.NOT_TAKEN:
            return MissReason("not_brought", detail, gone_from)
