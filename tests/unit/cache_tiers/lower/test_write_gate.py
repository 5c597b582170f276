"""The gate of writes, with a clock of the test's own."""

import logging

import pytest

from cache_tiers.lower.write_gate import LONGEST_WAIT, WriteGate


class Clock:
    """Clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def closed_seconds(gate: WriteGate, clock: Clock) -> float:
    """Refuse a write, and return how long probes that succeed leave the gate closed."""
    gate.on_refused("SET: ERR too large")
    began = clock.now
    while not gate.is_open:
        clock.now += 0.5
        gate.on_probe("")
    return clock.now - began


def test_probe_closes_and_opens_gate() -> None:
    gate = WriteGate("Redis", "here", Clock())
    gate.on_probe("SET: READONLY")
    assert (gate.is_open, gate.refusal, gate.num_changes) == (False, "SET: READONLY", 1)
    gate.on_probe("SET: OOM")
    assert (gate.refusal, gate.num_changes) == ("SET: OOM", 1)
    gate.on_probe("")
    assert (gate.is_open, gate.refusal, gate.num_changes) == (True, "", 2)


def test_writes_that_only_probes_survive_are_tried_rarely() -> None:
    clock = Clock()
    gate = WriteGate("Redis", "here", clock)
    assert [closed_seconds(gate, clock) for _ in range(8)] == [1, 2, 4, 8, 16, 32, LONGEST_WAIT, LONGEST_WAIT]
    gate.on_stored()
    assert closed_seconds(gate, clock) == 1


def test_writes_in_flight_when_gate_closes_count_once() -> None:
    clock = Clock()
    gate = WriteGate("Redis", "here", clock)
    gate.on_refused("SET: OOM")
    gate.on_refused("SET: OOM")
    clock.now += 1
    gate.on_probe("")
    assert gate.is_open


def test_each_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    gate = WriteGate("Redis", "redis://host", Clock())
    for refusal in ("", "SET: OOM", "SET: OOM", "", ""):
        gate.on_probe(refusal)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "SET: OOM" in caplog.text
    assert "redis://host" in caplog.text
