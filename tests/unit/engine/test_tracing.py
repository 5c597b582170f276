"""Traces: spans by track, their export to the format of trace viewers, and the summary table."""

import json
import threading
from pathlib import Path

import pytest

from app.profile.chrome_trace import trace_events, write_trace
from app.profile.summary import summary
from cache_tiers.transfer import Direction, TransferJob, TransferResult
from engine.loop.step_trace import trace_step
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.tracing import NO_TRACE, Recorder, Span, Track


def test_recorder_keeps_spans_and_returns_them_once() -> None:
    recorder = Recorder()
    recorder.add(Track.MODEL, "step", 1.0, 2.5, tokens=7)
    with recorder.span(Track.SCHEDULER, "schedule"):
        pass
    assert (recorder.count(Track.MODEL, "step"), recorder.count(Track.MODEL, "schedule")) == (1, 0)
    first, second = recorder.take()
    assert (first.track, first.name, first.seconds, first.facts) == (Track.MODEL, "step", 1.5, {"tokens": 7})
    assert (second.track, second.name) == (Track.SCHEDULER, "schedule")
    assert second.ended >= second.started
    assert recorder.take() == []
    assert recorder.count(Track.MODEL, "step") == 0


def test_span_is_kept_when_its_body_raises() -> None:
    recorder = Recorder()
    with pytest.raises(KeyError), recorder.span(Track.SCHEDULER, "update"):
        raise KeyError
    assert [span.name for span in recorder.take()] == ["update"]


def test_recorder_accepts_spans_from_several_threads() -> None:
    recorder = Recorder()
    together = threading.Barrier(4)

    def tell() -> None:
        together.wait()
        for _ in range(500):
            recorder.add(Track.MODEL, "step", 0.0, 1.0)

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.count(Track.MODEL, "step") == len(recorder.take()) == 2000


def test_null_trace_keeps_no_spans() -> None:
    NO_TRACE.add(Track.MODEL, "step", 0.0, 1.0, tokens=1)
    with NO_TRACE.span(Track.MODEL, "step"), NO_TRACE.span(Track.MODEL, "inside"):
        pass


STEP = SchedulerOutput(
    step_id=3,
    num_scheduled_tokens={"a": 1, "b": 5},
    loads=(TransferJob(1, Direction.LOAD, 0, 0), TransferJob(2, Direction.LOAD, 1, 0)),
    stores=(TransferJob(3, Direction.STORE, 2, 0),),
)
RESULT = ModelRunnerOutput(
    step_id=3,
    sampled_token_ids={},
    transfers=(TransferResult(1, 0.5), TransferResult(2, 0.25), TransferResult(3, 1.0, "no room")),
    started=11.0,
    ended=15.0,
    received=10.0,
    prepared=10.25,
    sent=17.0,
)


def test_step_has_spans_of_forward_pass_and_each_copy() -> None:
    recorder = Recorder()
    trace_step(recorder, STEP, RESULT)
    spans = [(span.track, span.name, span.started, span.ended) for span in recorder.take()]
    assert sorted(spans, key=lambda span: (span[0].value, span[2], -span[3])) == [
        (Track.MODEL, "forward", 11.0, 15.0),
        (Track.COPIES, "load", 10.25, 10.75),
        (Track.COPIES, "load", 10.75, 11.0),
        (Track.COPIES, "store", 15.0, 16.0),
        (Track.RESULTS, "finish", 15.0, 17.0),
        (Track.WORKER, "prepare", 10.0, 10.25),
    ]


def test_step_that_only_copies_blocks_has_no_forward_pass() -> None:
    recorder = Recorder()
    moves = SchedulerOutput(step_id=4, loads=STEP.loads, stores=STEP.stores)
    trace_step(
        recorder,
        moves,
        ModelRunnerOutput(step_id=4, sampled_token_ids={}, transfers=RESULT.transfers, received=10.0, sent=12.0),
    )
    spans = recorder.take()
    assert [span.name for span in spans] == ["prepare", "load", "load", "store"]
    assert (spans[-1].started, spans[-1].ended, spans[-1].facts) == (12.0, 13.0, {"error": "no room"})


def test_trace_file_has_events_of_trace_viewers(tmp_path: Path) -> None:
    spans = [
        Span(Track.MODEL, "step", 5.0, 5.002, {"tokens": 4}),
        Span(Track.RESTORES, "req-1", 4.999, 5.001, {"cpu": 2}),
        Span(Track.MODEL, "forward", 5.0, 5.001),
    ]
    write_trace(tmp_path / "trace.json", spans, {"model": "tiny"})
    body = json.loads((tmp_path / "trace.json").read_text())
    assert body["otherData"] == {"model": "tiny"}
    events = [event for event in body["traceEvents"] if event["ph"] != "M"]
    threads = {e["args"]["name"]: e["tid"] for e in body["traceEvents"] if e["name"] == "thread_name"}
    assert set(threads) == {track.value for track in Track}
    begin, end, step, forward = events
    assert (begin["ph"], end["ph"], begin["id"]) == ("b", "e", end["id"])
    assert (begin["ts"], end["ts"], begin["args"]) == (0.0, 2000.0, {"cpu": 2})
    # Trace viewers expect an inner span after the span that contains it.
    assert (step["ph"], step["name"], step["ts"], step["dur"]) == ("X", "step", 1000.0, 2000.0)
    assert (forward["name"], forward["tid"]) == ("forward", threads["model"])


def test_trace_without_spans_has_only_metadata() -> None:
    assert {event["ph"] for event in trace_events([])} == {"M"}


def test_summary_separates_decoding_prompts_and_gaps() -> None:
    def passing(started: float, ended: float, tokens: int) -> Span:
        return Span(Track.MODEL, "forward", started, ended, {"requests": 2, "tokens": tokens})

    lines = summary(
        [
            passing(0.0, 0.010, 2),
            passing(0.011, 0.031, 40),
            passing(0.032, 0.040, 2),
            Span(Track.SCHEDULER, "schedule", 0.0, 0.0002),
            Span(Track.COPIES, "store", 0.0, 0.0001),
            Span(Track.RESTORES, "req-1", 0.0, 0.01, {"cpu": 3, "redis": 1}),
            Span(Track.LATENESS, "late", 0.0, 0.004),
        ]
    )
    cells = [line.split() for line in lines]
    assert lines[0] == "3 steps in 0.04 s, 1,100 tokens/s computed"
    assert ["forward", "pass,", "decoding", "2", "9.00", "ms", "9.00", "ms", "9.98", "ms", "45.0", "%"] in cells
    assert ["forward", "pass,", "with", "prompts", "1", *["20.00", "ms"] * 3, "50.0", "%"] in cells
    assert ["gap", "between", "two", "passes", "2", *["1.00", "ms"] * 3, "5.0", "%"] in cells
    assert ["schedule", "1", *["200", "µs"] * 3, "0.5", "%"] in cells
    assert ["update", "0"] in cells
    assert "1 blocks copied by a store, 100 µs each" in lines
    assert "1 look-ups below the device brought these blocks: 3 from CPU memory, 1 from Redis, 0 from the disk" in lines
    assert lines[-1] == "the event loop was late 1 times, by at most 4.00 ms"
    assert summary([]) == ["no step was computed"]
