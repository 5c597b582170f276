"""Spans as a Chrome trace: JSON that chrome://tracing and https://ui.perfetto.dev open.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.tracing import Span, Track

PROCESS = 1
_TRACKS = {track: number for number, track in enumerate(Track, start=1)}


def write_trace(file: Path, spans: Iterable[Span], about: Mapping[str, Any]) -> None:
    """Write a trace whose times count from the first span. `about` becomes the trace's metadata. Raise OSError."""
    body = {"traceEvents": list(trace_events(spans)), "displayTimeUnit": "ms", "otherData": dict(about)}
    file.write_text(json.dumps(body), encoding="utf-8")


def trace_events(spans: Iterable[Span]) -> Iterator[dict[str, Any]]:
    """Yield the trace events, with one thread per track. Restores may overlap, so they are asynchronous events."""
    ordered = sorted(spans, key=lambda span: (span.started, -span.ended))
    origin = ordered[0].started if ordered else 0.0
    yield {"ph": "M", "pid": PROCESS, "name": "process_name", "args": {"name": "ebb"}}
    for track, thread in _TRACKS.items():
        yield {"ph": "M", "pid": PROCESS, "tid": thread, "name": "thread_name", "args": {"name": track.value}}
        yield {"ph": "M", "pid": PROCESS, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}}
    for number, span in enumerate(ordered):
        event = {
            "name": span.name,
            "cat": span.track.value,
            "pid": PROCESS,
            "tid": _TRACKS[span.track],
            "ts": _micros(span.started - origin),
            "args": dict(span.facts),
        }
        if span.track is Track.RESTORES:
            yield event | {"ph": "b", "id": number}
            yield event | {"ph": "e", "id": number, "ts": _micros(span.ended - origin), "args": {}}
        else:
            # The difference of rounded times: a span that ends where the next one starts must not overlap it.
            ended = _micros(span.ended - origin)
            yield event | {"ph": "X", "dur": round(ended - _micros(span.started - origin), 3)}


def _micros(seconds: float) -> float:
    return round(seconds * 1e6, 3)
