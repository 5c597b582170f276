"""Turns of engines that compute on the same cores, by the locks on two files."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from engine.api.errors import EngineError
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.native.native_step import NativeRunner, Started
from engine.worker.native.step_turns import StepTurns
from tests.native_rig import ROW, KernelsFor, NativeRig
from tests.tiny_models import make_tiny_model
from tests.waiting import until

HOLDER = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("taken", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def rig(kernels: KernelsFor, tmp_path: Path) -> NativeRig:
    """Return a rig with a tiny model."""
    model = make_tiny_model(tmp_path / "model", hidden=192, heads=3, kv_heads=1)
    return NativeRig(kernels("auto"), model, num_blocks=4)


def begun(rig: NativeRig, runner: NativeRunner) -> Started:
    """Submit the step of a prompt."""
    stream = rig.start([1, 2, 3])
    request = ScheduledRequest(
        request_id="a", token_ids=stream.tokens, context_len=0, block_ids=stream.blocks, sampling=(ROW,)
    )
    return runner.start([request])


def is_locked(descriptor: int) -> bool:
    """Return whether another process or another open file has the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return False


def test_step_waits_for_the_turn_of_another_engine(rig: NativeRig, tmp_path: Path) -> None:
    runner = NativeRunner(rig.model, rig.kv, threads=2, turns=StepTurns(tmp_path / "turns"))
    other = StepTurns(tmp_path / "turns")
    first = runner.finish(begun(rig, runner))
    fcntl.flock(other.turn, fcntl.LOCK_EX)
    step = begun(rig, runner)
    until(lambda: is_locked(other.place))
    assert not step.arrays.input.done
    fcntl.flock(other.turn, fcntl.LOCK_UN)
    assert runner.finish(step).tokens == first.tokens
    # An engine without a step has no turn.
    until(lambda: not is_locked(other.turn))
    other.close()


def test_turn_of_a_dead_process_is_free(rig: NativeRig, tmp_path: Path) -> None:
    runner = NativeRunner(rig.model, rig.kv, threads=2, turns=StepTurns(tmp_path / "turns"))
    other = StepTurns(tmp_path / "turns")
    command = (sys.executable, "-c", HOLDER, str(tmp_path / "turns" / "turn"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"taken\n"
        step = begun(rig, runner)
        until(lambda: is_locked(other.place))
        assert not step.arrays.input.done
        holder.kill()
        assert len(runner.finish(step).tokens) == 1
    other.close()


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    (tmp_path / "turns").write_text("")
    with pytest.raises(EngineError, match=r"by which models take turns cannot be opened in .*turns"):
        StepTurns(tmp_path / "turns")
