"""Consistency checks between /metrics, the table in docs/reference/metrics.md and the Grafana dashboard."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from app.host.engine_host import EngineHost
from app.observability.metrics import Metrics
from cache_tiers.histogram import Histogram
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.redis.backend import REDIS
from cache_tiers.store import CPUTierStats, StoreStats
from engine.executor.workers import WorkersState
from engine.loop.stats import EngineStats, ReplicaState, RouteStats, TierStats
from engine.offload.reuse_notes import ReuseStats
from engine.speculation.guess import DraftSource
from engine.testing.replay_engine import ReplayEngine

DOCS = Path(__file__).parents[4] / "docs"
ADDED_BY_PROMETHEUS = {"instance", "job", "le"}
NOT_IN_DASHBOARD = {"ebb_kv_block_bytes"}
"""Metrics that are constant while a server runs."""


class EngineWithEverything(ReplayEngine):
    """An engine with all tiers enabled, and with a value for every counter."""

    def stats(self) -> EngineStats:
        seconds = Histogram.of_seconds()
        tiers = StoreStats(
            CPUTierStats(used_bytes=1, capacity_bytes=2),
            {
                REDIS.id: LowerTierStats(
                    tier=REDIS,
                    state="ok",
                    used_bytes=1,
                    capacity_bytes=2,
                    stored_blocks=1,
                    written_bytes=4096,
                    loaded_blocks=1,
                    rejects={"wrong length": 1},
                    speed=LinkSpeed(answer_seconds=0.001, bytes_per_second=1e9),
                )
            },
        )
        stats = super().stats()
        return replace(
            stats,
            requests=replace(stats.requests, finished={"stop": 1}),
            tokens=replace(
                stats.tokens,
                asked=Counter(device=3, cpu=2, redis=1),
                drafted=Counter[DraftSource]({"prompt": 5, "phrase": 3}),
                accepted=Counter[DraftSource]({"prompt": 4}),
            ),
            blocks=replace(stats.blocks, tenants={"local": 1}),
            tiers=TierStats(store=tiers, load_seconds={"cpu": seconds}, reuse_ends={"evicted": 1}),
            workers=WorkersState("ok", (1, 2), restarts=1, last_loss="rank 1 died"),
            replicas=(
                ReplicaState(index=0, state="ok", epoch=1, machine="here", pid=7, answers=1, restarts=0, last_loss=""),
            ),
            routes=RouteStats({"prefix": 1}, 1, seconds, seconds),
            reuse=ReuseStats(asked={"cpu": 2.0}, found={"cpu": {"1": 1.0}}, spent=0.5),
        )


@pytest.fixture(scope="module")
def families() -> list[Metric]:
    """Every metric family that /metrics can expose."""
    host = EngineHost()
    host.ready(EngineWithEverything(), "identity")
    metrics = Metrics(host, lambda: 0)
    metrics.http_responses.labels("GET", 200).inc()
    metrics.limits_reached.labels("conversations").inc()
    metrics.http_seconds.labels("/").observe(0.1)
    return list(text_string_to_metric_families(asyncio.run(metrics.text()).decode()))


def labels_of(family: Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels} - {"le"}


def test_bytes_written_are_counted_by_tier(families: list[Metric]) -> None:
    [written] = [family for family in families if family.name == "ebb_tier_written_bytes"]
    assert {sample.labels["tier"]: sample.value for sample in written.samples if sample.name.endswith("_total")} == {
        "redis": 4096
    }


def test_drafted_tokens_are_counted_by_source_and_outcome(families: list[Metric]) -> None:
    [drafted] = [family for family in families if family.name == "ebb_drafted_tokens"]
    found = {(each.labels["source"], each.labels["outcome"]): each.value for each in drafted.samples if each.value}
    assert found == {("prompt", "accepted"): 4, ("prompt", "rejected"): 1, ("phrase", "rejected"): 3}


def test_docs_table_matches_exposed_metrics(families: list[Metric]) -> None:
    said = {
        (family.name + ("_total" if family.type == "counter" else ""), family.type, frozenset(labels_of(family)),
         family.documentation)
        for family in families
        if family.name.startswith("ebb_") and not family.name.endswith("_created")
    }  # fmt: skip
    rows = re.findall(
        r"^\| `(ebb_\w+)` \| (\w+) \|([^|]*)\| ([^|]*) \|$", (DOCS / "reference/metrics.md").read_text(), re.MULTILINE
    )
    written = {(name, kind, frozenset(re.findall(r"`(\w+)`", labels)), text) for name, kind, labels, text in rows}
    assert len(rows) == len(written)
    assert written == said


def expressions() -> Iterator[str]:
    dashboard: dict[str, Any] = json.loads((DOCS / "grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


@pytest.mark.parametrize("expression", list(expressions()))
def test_dashboard_queries_only_exposed_metrics(families: list[Metric], expression: str) -> None:
    labels = {sample.name: labels_of(family) for family in families for sample in family.samples}
    names = re.findall(r"\b((?:ebb|process)_\w+)", expression)
    assert names
    assert set(names) <= set(labels)
    known = set.union(*(labels[name] for name in names)) | ADDED_BY_PROMETHEUS
    grouped = [label for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in group.split(", ")]
    selected = re.findall(r"(\w+)(?:=~|!=|=)", expression)
    assert {*grouped, *selected} <= known


def test_dashboard_shows_every_changing_metric(families: list[Metric]) -> None:
    shown = set(re.findall(r"\bebb_\w+", " ".join(expressions())))
    missing = {
        family.name
        for family in families
        if family.name.startswith("ebb_")
        and not family.name.endswith("_created")
        and shown.isdisjoint(sample.name for sample in family.samples)
    }
    assert missing == NOT_IN_DASHBOARD


def test_dashboard_panels_do_not_overlap_and_name_their_groups() -> None:
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text())
    panels = dashboard["panels"]
    taken = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        for target in panel["targets"]:
            wanted = set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
            by = {label for group in re.findall(r"\bby \(([^)]*)\)", target["expr"]) for label in group.split(", ")}
            assert wanted <= by | {"instance"}
