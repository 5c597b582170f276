"""One sample of the whole server: current values, and rates as differences of two readings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.host.backend import Backend
from app.observability.figures import TierFigures, requests_by_state, tier_figures
from app.observability.tier_plan import tier_plans
from app.observability.tier_words import breaker_state, tier_words
from app.schemas.response_bodies.live import LiveFigures, RouteSample, TierSample
from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId
from engine.loop.stats import EngineStats, RouteStats


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Totals since the start, read at one moment.

    at: seconds of a monotonic clock.
    prompts: tokens by the source of their KV. "computed" tokens count as they are computed, others when their request
        ends.
    steps: number of steps.
    batched: sum of the batch sizes of all steps.
    routes: requests sent to replicas, by reason.
    predicted, seen: sum and number of the seconds from the choice of a replica to the first token.
    """

    at: float
    generated: int
    prompts: Mapping[str, int]
    steps: int
    batched: float
    tiers: Mapping[TierId, TierFigures]
    routes: Mapping[str, int] = field(default_factory=dict)
    predicted: tuple[float, int] = (0.0, 0)
    seen: tuple[float, int] = (0.0, 0)

    @classmethod
    def of(cls, stats: EngineStats, at: float) -> "Reading":
        """Copy the totals, since the engine's histograms keep counting."""
        reused = {tier.id: stats.tokens.reused[tier.id] for tier in all_tiers()}
        prompts = {**reused, "computed": stats.tokens.prefilled}
        sizes = stats.steps.batch_sizes
        reading = cls(
            at=at,
            generated=stats.tokens.generated,
            prompts=prompts,
            steps=sizes.count,
            batched=sizes.total,
            tiers=tier_figures(stats),
        )
        if (routes := stats.routes) is None:
            return reading
        return replace(
            reading,
            routes=dict(routes.reasons),
            predicted=(routes.predicted_seconds.total, routes.predicted_seconds.count),
            seen=(routes.seen_seconds.total, routes.seen_seconds.count),
        )


def sample_of(engine: Backend, stats: EngineStats, now: Reading, before: Reading, earlier: Reading) -> LiveFigures:
    """Return one sample for the stream. A tier that is off has only its state.

    now: the reading of `stats`.
    before: the reading from which rates are computed.
    earlier: the reading from which hit rates are computed.

    Rates are None if no time has passed, and ratios None if nothing was counted.
    """
    seconds = now.at - before.at
    words = tier_words(engine, stats)
    plans = tier_plans(stats, {tier: figures.capacity_bytes for tier, figures in now.tiers.items()})
    tiers: dict[TierId, TierSample] = {
        tier: _tier(words[tier], figures, before.tiers[tier], earlier.tiers[tier], seconds)
        for tier, figures in now.tiers.items()
    }
    for tier, sample in tiers.items():
        sample["plan"] = plans.get(tier)
    tiers |= {tier: {"state": state} for tier, state in words.items() if tier not in now.tiers}
    return {
        "requests": requests_by_state(stats),
        "batch_size": _ratio(now.batched - before.batched, now.steps - before.steps),
        "generated_tokens_per_second": _rate(now.generated, before.generated, seconds),
        "prompt_tokens_per_second": {
            source: _rate(count, before.prompts[source], seconds) for source, count in now.prompts.items()
        },
        "breaker": breaker_state(stats.tiers.store) if stats.tiers.store is not None else None,
        "tiers": tiers,
        "replicas": [
            {"index": each.index, "state": each.state, "answers": each.answers, "restarts": each.restarts}
            for each in stats.replicas
        ],
        "routes": _routes(stats.routes, now, before, earlier, seconds) if stats.routes is not None else None,
    }


def _routes(routes: RouteStats, now: Reading, before: Reading, earlier: Reading, seconds: float) -> RouteSample:
    return {
        "reasons": {
            reason: _rate(count, before.routes.get(reason, 0), seconds) for reason, count in now.routes.items()
        },
        "takeovers": routes.takeovers,
        "predicted_seconds": _mean(now.predicted, earlier.predicted),
        "seen_seconds": _mean(now.seen, earlier.seen),
    }


def _mean(now: tuple[float, int], before: tuple[float, int]) -> float | None:
    return _ratio(now[0] - before[0], now[1] - before[1])


def _tier(state: str, now: TierFigures, before: TierFigures, earlier: TierFigures, seconds: float) -> TierSample:
    return {
        "state": state,
        "used_bytes": now.used_bytes,
        "capacity_bytes": now.capacity_bytes,
        "hit_rate": _ratio(now.found_tokens - earlier.found_tokens, now.asked_tokens - earlier.asked_tokens),
        "bytes_in_per_second": _rate(now.bytes_in, before.bytes_in, seconds),
        "bytes_out_per_second": _rate(now.bytes_out, before.bytes_out, seconds),
        "evictions_per_second": _rate(now.evicted, before.evicted, seconds),
        "tenants": dict(now.tenants),
    }


def _rate(now: int, before: int, seconds: float) -> float | None:
    # The counters of a restarted server begin at zero again.
    return round(max(0, now - before) / seconds, 2) if seconds > 0 else None


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole > 0 else None
