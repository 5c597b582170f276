"""`ebb profile` on a tiny model: the trace file and the printed table."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from tests.tiny_models import make_tiny_model

STEPS = 40


@pytest.fixture(autouse=True)
def _process_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isolation of the process state that the command changes, since it normally runs in a separate process."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.chdir(tmp_path)


def profile(tmp_path: Path, *flags: str) -> int:
    model = make_tiny_model(tmp_path / "model", max_positions=512)
    load = ("--streams", "3", "--prompt-tokens", "100", "--output-tokens", "12", "--steps", str(STEPS))
    sizes = ("--kv-memory", "8MiB", "--cpu-kv-memory", "16MiB", "--dtype", "float32")
    return main(["profile", "--model", str(model), "--cache-dir", str(tmp_path / "cache"), *load, *sizes, *flags])


def spans(events: list[dict[str, Any]], track: str) -> list[dict[str, Any]]:
    threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    return [event for event in events if event["ph"] != "M" and threads[event["tid"]] == track]


def test_profile_writes_a_trace_and_prints_the_time_by_phase(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert profile(tmp_path) == 0
    printed = capsys.readouterr().out
    assert "ebb-profile.json: open it in https://ui.perfetto.dev" in printed
    for row in ("forward pass, decoding", "gap between two passes", "schedule", "update", "outputs", "wake-up"):
        assert row in printed

    body = json.loads((tmp_path / "ebb-profile.json").read_text())
    assert (body["otherData"]["model"], body["otherData"]["streams"]) == ("model", 3)
    events: list[dict[str, Any]] = body["traceEvents"]
    passes = spans(events, "model")
    assert {event["name"] for event in passes} == {"forward"}
    assert len(passes) >= STEPS
    assert max(event["args"]["requests"] for event in passes) == 3
    assert all(round(before["ts"] + before["dur"], 3) <= after["ts"] for before, after in pairwise(passes))
    # A step that only copies blocks is prepared too. Only a step that computes has results.
    assert len(spans(events, "worker: step preparation")) >= len(spans(events, "worker: results")) == len(passes)
    assert {event["name"] for event in spans(events, "scheduler")} == {"schedule", "update"}
    assert {event["name"] for event in spans(events, "output processing")} == {"outputs"}
    assert {event["name"] for event in spans(events, "event loop")} == {"wake-up"}
    # The streams are turns of conversations, so full blocks are stored in the CPU tier.
    assert "store" in {event["name"] for event in spans(events, "tiers: copies")}
    assert all(event["ts"] >= 0 for event in events if event["ph"] != "M")


def test_profile_leaves_the_server_state_directory_untouched(tmp_path: Path) -> None:
    assert profile(tmp_path, "--redis-url", "off", "--output", "other.json") == 0
    assert (tmp_path / "other.json").is_file()
    state = tmp_path / ".local" / "state" / "ebb"
    assert not any(state.iterdir())


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (("--streams", "0"), 2, "ebb: --streams: 0 is not between 1 and 4096"),
        (("--output", "nowhere/trace.json"), 2, "nowhere/trace.json: the folder does not exist"),
        (("--steps-n", "4"), 2, "unknown argument --steps-n; did you mean --steps?"),
        (("--prompt-tokens", "600"), 1, "600"),
        (("--model", "nowhere"), 1, "there is no model 'nowhere'"),
    ],
)
def test_invalid_argument_is_reported_before_recording(
    tmp_path: Path, flags: tuple[str, ...], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        assert profile(tmp_path, *flags) == status
    except SystemExit as exit_:
        assert exit_.code == status  # noqa: PT017 - argparse leaves in this way
    assert words in capsys.readouterr().err
    assert not (tmp_path / "ebb-profile.json").exists()
