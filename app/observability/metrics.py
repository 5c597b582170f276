"""Prometheus metrics: the engine's own counters, read on each scrape, and counters of the HTTP side."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from prometheus_client import CollectorRegistry, Counter, ProcessCollector, generate_latest
from prometheus_client import Histogram as LiveHistogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from app.host.engine_host import EngineHost
from app.observability.figures import requests_by_state, tier_figures
from app.observability.tier_plan import hit_rates
from app.version import VERSION
from cache_tiers.curves.reuse_curves import FACTORS
from cache_tiers.histogram import Histogram
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.registry import all_tiers
from cache_tiers.tier import CPU
from engine.loop.stats import EngineStats, RouteStats
from engine.offload.reuse_notes import factor_name
from engine.speculation.guess import DRAFT_SOURCES

HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Histogram bounds. The duration of a streamed answer is that of its stream."""

LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.25, 0.5, 1, 2.5, 5)
"""Histogram bounds of the event loop's lag. People notice more than 50 ms."""


class Metrics:
    """Metrics in a separate registry, so that two servers in one process do not collide."""

    def __init__(
        self, host: EngineHost, live_runs: Callable[[], int], reserved_bytes: Callable[[], int] = lambda: 0
    ) -> None:
        """Create the metrics. reserved_bytes: returns the bytes of the disk that are reserved for promises."""
        self._registry = CollectorRegistry()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        ProcessCollector(registry=self._registry)
        self._engine = _EngineCollector(host, live_runs, reserved_bytes)
        self._registry.register(self._engine)
        self.http_responses = Counter(
            "ebb_http_responses",
            "Number of HTTP responses, by method and status; 499 if the client left before the response",
            ["method", "status"],
            registry=self._registry,
        )
        self.http_seconds = LiveHistogram(
            "ebb_http_request_seconds",
            "Seconds from a request's head to the end of its answer, by route",
            ["route"],
            buckets=HTTP_SECONDS,
            registry=self._registry,
        )
        self.loop_lag = LiveHistogram(
            "ebb_event_loop_lag_seconds",
            "Seconds by which the event loop is late for a timer",
            buckets=LAG_SECONDS,
            registry=self._registry,
        )
        self.loop_blocks = Counter(
            "ebb_event_loop_blocks",
            "Number of times that the event loop was late by more than 50 ms. The log has the stack of one that a "
            "person feels, at most once a minute: from 100 ms, or from 250 ms while answers are computed",
            registry=self._registry,
        )

        self.limits_reached = Counter(
            "ebb_limits_reached",
            "Number of requests refused because of their tenant's limits",
            ["limit"],
            registry=self._registry,
        )

    async def text(self) -> bytes:
        """Return the metrics in the Prometheus text format 0.0.4.

        Written on a thread that has no other work: a thousand lines take a while, and monitoring must not wait.
        """
        self._engine.look()
        return await asyncio.get_running_loop().run_in_executor(self._thread, generate_latest, self._registry)


class _EngineCollector(Collector):
    def __init__(self, host: EngineHost, live_runs: Callable[[], int], reserved_bytes: Callable[[], int]) -> None:
        self._host = host
        self._live_runs = live_runs
        self._reserved_bytes = reserved_bytes
        self._seen: list[Metric] = []

    def look(self) -> None:
        """Take a snapshot of the engine. Call on the event loop, which owns the engine."""
        self._seen = list(self._now())

    def describe(self) -> list[Metric]:
        """Describe no metrics: their names are known only when they are collected."""
        return []

    def collect(self) -> list[Metric]:
        """Return the newest snapshot. Any thread may call this."""
        return self._seen

    def _now(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("ebb_build_info", "Always 1, with the version", labels=["version"])
        yield _by_label(build, {VERSION: 1})
        yield GaugeMetricFamily(
            "ebb_ready", "1 while requests are served, else 0", value=float(self._host.status == "ok")
        )
        yield GaugeMetricFamily(
            "ebb_runs_live", "Number of answers being generated in conversations", self._live_runs()
        )
        yield GaugeMetricFamily(
            "ebb_kv_reserved_bytes", "Bytes of the disk tier reserved for promises to tenants", self._reserved_bytes()
        )
        if self._host.engine is not None:
            stats = self._host.stats()
            yield from _requests(stats)
            yield from _tokens(stats)
            yield from _blocks(stats)
            yield from _tiers(stats)
            if stats.routes is not None:
                yield from _replicas(stats, stats.routes)
            if stats.workers is not None:
                yield CounterMetricFamily(
                    "ebb_rank_restarts",
                    "Number of times that the ranks of the model were restarted",
                    stats.workers.restarts,
                )
            if stats.tiers.store is not None:
                for each in stats.tiers.store.lower.values():
                    yield from _lower_tier(each)
                yield CounterMetricFamily(
                    "ebb_warmed_blocks",
                    "Number of blocks prefetched into CPU memory while the user typed",
                    stats.tiers.warmed,
                )


def _replicas(stats: EngineStats, routes: RouteStats) -> Iterator[Metric]:
    states = {state: sum(each.state == state for each in stats.replicas) for state in ("ok", "starting", "failed")}
    yield _by_label(GaugeMetricFamily("ebb_replicas", "Number of replicas, by state", labels=["state"]), states)
    yield CounterMetricFamily(
        "ebb_replica_restarts",
        "Number of times that a replica was restarted",
        sum(each.restarts for each in stats.replicas),
    )
    yield _by_label(
        CounterMetricFamily(
            "ebb_routes", "Number of requests sent to a replica, by the reason for the choice", labels=["reason"]
        ),
        routes.reasons,
    )
    yield CounterMetricFamily("ebb_takeovers", "Number of answers that another replica continued", routes.takeovers)
    yield CounterMetricFamily(
        "ebb_hand_overs", "Number of answers that a replica handed over after the first token", routes.hand_overs
    )
    yield _histogram(
        "ebb_route_predicted_seconds",
        "Seconds from the choice of the replica to the first token, as predicted",
        routes.predicted_seconds,
    )
    yield _histogram(
        "ebb_route_seen_seconds", "Seconds from the choice of the replica to the first token", routes.seen_seconds
    )


def _requests(stats: EngineStats) -> Iterator[Metric]:
    yield _by_label(
        GaugeMetricFamily("ebb_requests", "Number of current requests, by state", labels=["state"]),
        requests_by_state(stats),
    )
    yield _by_label(
        CounterMetricFamily("ebb_requests_finished", "Number of requests that ended, by reason", labels=["reason"]),
        stats.requests.finished,
    )
    yield _by_label(
        CounterMetricFamily(
            "ebb_preemptions",
            "Number of requests that lost their blocks, by the state that they were in",
            labels=["state"],
        ),
        {"running": stats.requests.preemptions, "waiting": stats.requests.reclaims},
    )
    yield CounterMetricFamily(
        "ebb_scheduler_rebuilds", "Number of schedulers that failed and were replaced", stats.steps.rebuilds
    )
    yield _histogram("ebb_ttft_seconds", "Seconds from arrival to the first token", stats.requests.ttft_seconds)
    yield _histograms(
        "ebb_queue_seconds",
        "Seconds from arrival to the first step, by outcome",
        "outcome",
        stats.requests.queue_seconds,
    )
    yield _histogram(
        "ebb_inter_token_seconds", "Seconds between two tokens of a request", stats.requests.inter_token_seconds
    )
    yield _histogram("ebb_step_seconds", "Seconds that one step of the model takes", stats.steps.seconds)
    yield _histogram("ebb_step_gap_seconds", "Seconds between two forward passes", stats.steps.gap_seconds)
    yield _histogram("ebb_batch_size", "Number of requests in one step", stats.steps.batch_sizes)


def _tokens(stats: EngineStats) -> Iterator[Metric]:
    sources = {
        **{tier.id: stats.tokens.reused[tier.id] for tier in all_tiers()},
        "computed": stats.tokens.computed,
    }
    yield _by_label(
        CounterMetricFamily(
            "ebb_prompt_tokens", "Number of prompt tokens, by where their KV came from", labels=["source"]
        ),
        sources,
    )
    yield CounterMetricFamily(
        "ebb_prefilled_tokens",
        "Number of prompt tokens computed, including those of requests that have not ended",
        stats.tokens.prefilled,
    )
    yield CounterMetricFamily("ebb_generation_tokens", "Number of tokens generated", stats.tokens.generated)
    yield CounterMetricFamily("ebb_embeddings", "Number of texts embedded or ranked", stats.requests.embeddings)
    drafted = CounterMetricFamily(
        "ebb_drafted_tokens",
        "Number of tokens that were guessed and computed, by the source of the guess and outcome",
        labels=["source", "outcome"],
    )
    for source in DRAFT_SOURCES:
        accepted = stats.tokens.accepted[source]
        drafted.add_metric([source, "accepted"], accepted)
        drafted.add_metric([source, "rejected"], stats.tokens.drafted[source] - accepted)
    yield drafted


def _blocks(stats: EngineStats) -> Iterator[Metric]:
    blocks = {"used": stats.blocks.used, "cached": stats.blocks.cached, "total": stats.blocks.total}
    yield _by_label(
        GaugeMetricFamily("ebb_kv_blocks", "Number of blocks of the device pool, by state", labels=["state"]), blocks
    )
    yield GaugeMetricFamily("ebb_kv_block_bytes", "Size of one block in bytes", stats.blocks.nbytes)
    yield GaugeMetricFamily(
        "ebb_kv_unstored_blocks", "Number of full blocks that are not in the CPU tier yet", stats.blocks.unstored
    )
    yield _by_label(
        CounterMetricFamily(
            "ebb_self_checks",
            "Number of consistency checks of all owners of blocks, made while idle, by outcome",
            labels=["outcome"],
        ),
        stats.blocks.checks,
    )


def _tiers(stats: EngineStats) -> Iterator[Metric]:
    """Yield the usage, hits and timings of each tier that is on. A tier's hit rate is rate(found) / rate(asked)."""
    by_tier = ["tier"]
    used = GaugeMetricFamily("ebb_tier_used_bytes", "Bytes in use, by tier", labels=by_tier)
    capacity = GaugeMetricFamily("ebb_tier_capacity_bytes", "Capacity in bytes, by tier", labels=by_tier)
    asked = CounterMetricFamily(
        "ebb_tier_asked_tokens", "Number of prompt tokens that no tier above had, by tier", labels=by_tier
    )
    found = CounterMetricFamily("ebb_tier_found_tokens", "Number of prompt tokens reused, by tier", labels=by_tier)
    evicted = CounterMetricFamily(
        "ebb_tier_evicted_blocks", "Number of blocks evicted to make room for others, by tier", labels=by_tier
    )
    lost = CounterMetricFamily(
        "ebb_tier_lost_blocks", "Number of evicted blocks that the tier below did not have yet, by tier", labels=by_tier
    )
    moved = CounterMetricFamily(
        "ebb_tier_bytes", "Number of bytes of blocks copied into a tier and out of it", labels=["tier", "direction"]
    )
    tenants = GaugeMetricFamily(
        "ebb_tier_tenant_bytes", "Bytes in use by the largest tenants and by all others", labels=["tier", "tenant"]
    )
    for tier, figures in tier_figures(stats).items():
        used.add_metric([tier], figures.used_bytes)
        capacity.add_metric([tier], figures.capacity_bytes)
        asked.add_metric([tier], figures.asked_tokens)
        found.add_metric([tier], figures.found_tokens)
        evicted.add_metric([tier], figures.evicted)
        if figures.lost is not None:
            lost.add_metric([tier], figures.lost)
        moved.add_metric([tier, "in"], figures.bytes_in)
        moved.add_metric([tier, "out"], figures.bytes_out)
        for tenant, nbytes in figures.tenants.items():
            tenants.add_metric([tier, tenant], nbytes)
    yield from (used, capacity, tenants, asked, found, evicted, lost, moved)
    planned = GaugeMetricFamily(
        "ebb_tier_planned_hit_rate",
        "Part of the prompts' tokens that a tier would have at a multiple of its size, by tier and multiple",
        labels=["tier", "size"],
    )
    for tier, rates in hit_rates(stats.reuse).items():
        for factor, rate in zip(FACTORS, rates, strict=True):
            planned.add_metric([tier, factor_name(factor)], rate)
    yield planned
    yield CounterMetricFamily(
        "ebb_plan_cpu_seconds", "CPU seconds spent on predicting hits at other sizes of the tiers", stats.reuse.spent
    )
    yield _by_label(
        CounterMetricFamily(
            "ebb_reuse_ends", "Number of requests whose next block no tier provided, by cause", labels=["cause"]
        ),
        stats.tiers.reuse_ends,
    )
    tiers = stats.tiers.store
    if tiers is not None:
        loads = "Seconds until a request's blocks were loaded, by the lowest tier that they came from"
        yield _histograms("ebb_tier_load_seconds", loads, "tier", stats.tiers.load_seconds)
        lower = tiers.lower.items()
        promised = {tier: each.promised_bytes for tier, each in lower}
        name, text = "ebb_tier_promised_bytes", "Bytes that a tier has promised to keep, by tier"
        yield _by_label(GaugeMetricFamily(name, text, labels=by_tier), promised)
        broken = {tier: each.broken_promises for tier, each in lower}
        name, text = "ebb_tier_broken_promises", "Number of promised blocks that could not be held, by tier"
        yield _by_label(CounterMetricFamily(name, text, labels=by_tier), broken)
        written = {tier: each.written_bytes for tier, each in lower}
        yield _by_label(
            CounterMetricFamily(
                "ebb_tier_written_bytes",
                "Number of bytes written to a tier, without blocks that it had already",
                labels=by_tier,
            ),
            written,
        )
        yield GaugeMetricFamily(
            "ebb_kv_deferred_blocks",
            "Number of blocks in CPU memory that wait for a use before they are written to a tier below",
            tiers.cpu.deferred_blocks,
        )
        yield CounterMetricFamily(
            "ebb_kv_dropped_blocks", "Number of deferred blocks that were evicted unwritten", tiers.cpu.dropped_blocks
        )
        stores = {CPU.id: stats.tiers.cpu_store_seconds} | {tier: each.store_seconds for tier, each in lower}
        yield _histograms("ebb_tier_store_seconds", "Seconds that writing one block takes, by tier", "tier", stores)
        lookups = {tier: each.lookup_seconds for tier, each in lower}
        yield _histograms(
            "ebb_tier_lookup_seconds", "Seconds that looking up which blocks a tier has takes", "tier", lookups
        )


def _lower_tier(stats: LowerTierStats) -> Iterator[Metric]:
    prefix, name = f"ebb_{stats.tier.id}", stats.tier.name
    yield GaugeMetricFamily(f"{prefix}_up", f"1 while {name} answers, else 0", float(stats.state == "ok"))
    accepts = stats.state == "ok" and not stats.refusal
    yield GaugeMetricFamily(
        f"{prefix}_accepts_writes", f"1 while {name} answers and stores blocks, else 0", float(accepts)
    )
    yield GaugeMetricFamily(
        f"{prefix}_pending_writes", f"Number of blocks waiting to be written to {name}", stats.pending_writes
    )
    yield GaugeMetricFamily(
        f"{prefix}_write_lag_seconds",
        f"Age in seconds of the oldest block waiting to be written to {name}",
        stats.write_lag_seconds,
    )
    outcomes = {
        "stored": stats.stored_blocks,
        "failed": stats.failed_blocks,
        "loaded": stats.loaded_blocks,
        "rejected": stats.rejected_blocks,
    }
    yield _by_label(
        CounterMetricFamily(
            f"{prefix}_blocks", f"Number of blocks exchanged with {name}, by outcome", labels=["outcome"]
        ),
        outcomes,
    )
    yield CounterMetricFamily(
        f"{prefix}_shed_blocks",
        f"Number of blocks not written because too many waited for {name}",
        stats.shed_blocks,
    )
    yield _by_label(
        CounterMetricFamily(
            f"{prefix}_rejected_blocks", f"Number of blocks found in {name} and rejected, by reason", labels=["reason"]
        ),
        stats.rejects,
    )
    if stats.speed.answer_seconds is not None:
        yield GaugeMetricFamily(
            f"{prefix}_answer_seconds",
            f"Seconds until a response of {name} begins, as measured recently",
            stats.speed.answer_seconds,
        )
    if stats.speed.bytes_per_second is not None:
        yield GaugeMetricFamily(
            f"{prefix}_bytes_per_second",
            f"Bytes per second at which blocks are read from {name}, as measured recently",
            stats.speed.bytes_per_second,
        )


def _by_label(
    family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, int]
) -> GaugeMetricFamily | CounterMetricFamily:
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def _histograms(name: str, help_text: str, label: str, values: Mapping[str, Histogram]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, help_text, labels=[label])
    for value, histogram in values.items():
        family.add_metric([value], _buckets(histogram), histogram.total)
    return family


def _histogram(name: str, help_text: str, values: Histogram) -> HistogramMetricFamily:
    return HistogramMetricFamily(name, help_text, buckets=_buckets(values), sum_value=values.total)


def _buckets(values: Histogram) -> list[tuple[str, float]]:
    cumulative, buckets = 0, []
    for bound, count in zip((*map(str, values.bounds), "+Inf"), values.counts, strict=True):
        cumulative += count
        buckets.append((bound, float(cumulative)))
    return buckets
