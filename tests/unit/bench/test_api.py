"""API benchmark: request fuzzer, stream reader and report, at small size."""

import random

import pytest

from app.openapi import openapi_document
from app.schemas.examples import MESSAGE
from bench.api.fuzz_bodies import body_for
from bench.api.fuzz_requests import Operation, RequestMaker, operations
from bench.api.report import ApiReport, content, passed, targets, to_markdown
from bench.api.stream_reader import RUN_TEXT, StreamReader, Window
from bench.api.streams import StreamsPlan, StreamsResult
from bench.machine import describe_machine
from bench.stats import spread
from engine.testing.schedule import STEP_SECONDS, clock, steps_until

KNOWN = [
    Operation("POST", "/api/conversations/{id}/messages", examples=[{"content": "x", "parent_id": MESSAGE}]),
    Operation("GET", "/api/search", ["q"]),
]


def test_fuzzer_has_examples_of_every_body() -> None:
    document = openapi_document()
    found = {(each.method, each.path): each.examples for each in operations(document)}
    for (method, path), examples in found.items():
        described = document["paths"][path][method.lower()]
        has_body = "application/json" in described.get("requestBody", {}).get("content", {})
        assert bool(examples) == has_body, path


def test_same_seed_makes_same_requests() -> None:
    one, other = ([RequestMaker(KNOWN, 3).make() for _ in range(50)] for _ in range(2))
    assert one == other


def test_fuzzer_reuses_learned_ids() -> None:
    maker = RequestMaker(KNOWN, 1)
    maker.learn(b'{"id": "conv_0123456789abcdef0123"}')
    assert any(b"conv_0123456789abcdef0123" in maker.make().request for _ in range(50))


def test_bodies_are_both_valid_and_invalid() -> None:
    source = random.Random(1)
    bodies = [body_for([{"text": "When is"}], source, {}) for _ in range(200)]
    right = [body for body in bodies if body == b'{"text": "When is"}']
    assert 20 < len(right) < 120


async def test_reader_counts_late_and_missing_steps() -> None:
    first = steps_until(clock()) - 100
    window = Window(first, first + 10)
    reader = StreamReader(b"", RUN_TEXT, window)
    for step in (first, first + 1, first + 3):
        event = f'data: {{"text":" {step}"}}\n\n'.encode()
        reader.data_received(event[:9])
        reader.data_received(event[9:])
    assert (reader.steps, reader.faults) == (3, 1)
    [late] = window.late
    assert late == pytest.approx(99 * STEP_SECONDS, abs=2 * STEP_SECONDS)
    reader.connection_lost(None)


def test_verdict_covers_targets_of_parts_that_ran() -> None:
    def report(late_ms: float) -> ApiReport:
        few = spread([late_ms])
        plan = StreamsPlan("runs", 10, 1.0)
        result = StreamsResult(plan, 0.5, few, 200.0, 1000.0, 1100.0, 10, 0, 0.1, few)
        return ApiReport("today", describe_machine(), streams=(result,))

    assert passed(report(20.0))
    assert not passed(report(100.0))
    assert len(targets(report(20.0))) == 4
    assert content(report(20.0))["passed"] is True
    assert "10 streams of runs" in to_markdown(report(20.0))
