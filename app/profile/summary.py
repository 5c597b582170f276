"""Summary of a profile: a table of where the time of a step went."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from app.observability.percentiles import percentile
from cache_tiers.registry import all_tiers
from cache_tiers.tier import DEVICE
from engine.loop.step_trace import FORWARD
from engine.tracing import Span, Track


def summary(spans: Sequence[Span]) -> list[str]:
    """Return the lines of the table. Shares refer to the time from the first forward pass to the end of the last."""
    passes = _named(spans, Track.MODEL, FORWARD)
    if not passes:
        return ["no step was computed"]
    wall = passes[-1].ended - passes[0].started
    tokens = sum(int(span.facts["tokens"]) for span in passes)
    decodes = [span.seconds for span in passes if span.facts["tokens"] == span.facts["requests"]]
    mixed = [span.seconds for span in passes if span.facts["tokens"] != span.facts["requests"]]
    gaps = [after.started - before.ended for before, after in pairwise(passes)]
    rows = (
        ("the model", None),
        ("forward pass, decoding", decodes),
        ("forward pass, with prompts", mixed),
        ("gap between two passes", gaps),
        ("around it", None),
        ("schedule", _seconds(spans, Track.SCHEDULER, "schedule")),
        ("prepare: batch, arrays", _seconds(spans, Track.WORKER, "prepare")),
        ("finish: stores, tokens", _seconds(spans, Track.RESULTS, "finish")),
        ("update", _seconds(spans, Track.SCHEDULER, "update")),
        ("outputs", _seconds(spans, Track.OUTPUT, "outputs")),
        ("wake-up of the event loop", _seconds(spans, Track.LOOP, "wake-up")),
    )
    return [
        f"{len(passes)} steps in {wall:.2f} s, {tokens / wall:,.0f} tokens/s computed",
        "",
        f"{'':28} {'count':>6} {'mean':>10} {'median':>10} {'p99':>10} {'share':>8}",
        *(_row(label, values, wall) for label, values in rows),
        "",
        *_tiers(spans),
        _lateness(_seconds(spans, Track.LATENESS, "late")),
    ]


def _row(label: str, values: Sequence[float] | None, wall: float) -> str:
    if values is None:
        return f"{label}:"
    if not values:
        return f"  {label:26} {0:6}"
    mean, middle, high = sum(values) / len(values), percentile(values, 50), percentile(values, 99)
    share = f"{100 * sum(values) / wall:6.1f} %"
    return f"  {label:26} {len(values):6} {_duration(mean)} {_duration(middle)} {_duration(high)} {share}"


def _tiers(spans: Sequence[Span]) -> Iterator[str]:
    for name in ("load", "store"):
        copies = _seconds(spans, Track.COPIES, name)
        if copies:
            mean = _duration(sum(copies) / len(copies)).strip()
            yield f"{len(copies)} blocks copied by a {name}, {mean} each"
    restores = [span for span in spans if span.track is Track.RESTORES]
    if restores:
        blocks = sum((Counter({tier: int(num) for tier, num in span.facts.items()}) for span in restores), Counter())
        sources = ", ".join(f"{blocks[tier.id]} from {tier.name}" for tier in all_tiers() if tier is not DEVICE)
        yield f"{len(restores)} look-ups below the device brought these blocks: {sources}"


def _lateness(late: Sequence[float]) -> str:
    if not late:
        return "the event loop was never late"
    return f"the event loop was late {len(late)} times, by at most {_duration(max(late)).strip()}"


def _named(spans: Iterable[Span], track: Track, name: str) -> list[Span]:
    return sorted((span for span in spans if span.track is track and span.name == name), key=lambda span: span.started)


def _seconds(spans: Iterable[Span], track: Track, name: str) -> list[float]:
    return [span.seconds for span in _named(spans, track, name)]


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:7.2f} ms" if seconds >= 0.001 else f"{seconds * 1e6:7.0f} µs"
