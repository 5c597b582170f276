"""The limit on restarts of ranks: after three within ten minutes the executor gives up."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig
from engine.executor import multiproc
from engine.executor.messages import Call, StepEnded
from engine.executor.multiproc import BACKOFF_SECONDS, MultiprocExecutor
from engine.executor.rank_processes import RankDiedError
from engine.executor.workers import WorkersLostError
from engine.process.restart_budget import RestartBudget
from engine.request.scheduler_output import SchedulerOutput
from engine.worker.loaded_model import LoadedModel
from tests.tiny_models import make_tiny_model

MAX_RESTARTS = len(BACKOFF_SECONDS)


def never_up(*_: object) -> None:
    raise EngineError("the device is on fire")


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MultiprocExecutor]:
    """Build an executor whose ranks fail to start."""
    monkeypatch.setattr(multiproc, "RankProcesses", never_up)
    monkeypatch.setattr(multiproc, "BACKOFF_SECONDS", (0.0,) * MAX_RESTARTS)
    config = EngineConfig(
        model=ModelConfig(path=make_tiny_model(tmp_path), name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"s"),
        parallel=ParallelConfig(tensor_parallel_size=2),
    )
    executor = MultiprocExecutor(config, print)
    yield executor
    executor.close()


def lose(executor: MultiprocExecutor, number: int) -> None:
    """Restart the ranks, and wait until the restart has failed, too."""
    executor.restart()
    step = executor.execute(SchedulerOutput(step_id=number))
    with pytest.raises(WorkersLostError, match="the workers could not be restarted: the device is on fire"):
        step.result(10.0)


def test_executor_fails_after_repeated_losses_and_says_why(executor: MultiprocExecutor) -> None:
    for number in range(MAX_RESTARTS):
        lose(executor, number)
        assert (executor.state.state, executor.state.restarts) == ("starting", number + 1)
    with pytest.raises(EngineError, match=r"workers were lost 4 times within 600 s, .* the device is on fire"):
        executor.restart()
    assert (executor.state.state, executor.state.pids) == ("failed", (None, None))
    assert executor.state.restarts == MAX_RESTARTS


class DyingRanks:
    """Ranks of which one dies at once. `close` blocks until `end`, as for processes that are slow to exit."""

    pids = (1, 2)

    def __init__(self, *_: object) -> None:
        self.is_closing = threading.Event()
        self.may_close = threading.Event()

    def call(self, _call: Call) -> list[LoadedModel | None]:
        return [LoadedModel(vocab_size=10, max_position_embeddings=10, block_nbytes=1, free=1, numerics="toy")] * 2

    def steps(self, _on_answer: object) -> Iterator[list[StepEnded]]:
        raise RankDiedError("a rank died")

    def send(self, message: object) -> None:
        raise AssertionError("a step was sent to ranks that are ending")

    def end(self) -> None:
        self.may_close.set()

    def close(self) -> None:
        self.is_closing.set()
        assert self.may_close.wait(10.0)


def test_step_during_loss_fails_with_the_others(executor: MultiprocExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = DyingRanks()
    monkeypatch.setattr(multiproc, "RankProcesses", lambda *_: ranks)
    executor.load()
    executor.begin()
    assert ranks.is_closing.wait(10.0)
    step = executor.execute(SchedulerOutput(step_id=1))
    assert not step.done()
    ranks.may_close.set()
    with pytest.raises(WorkersLostError, match="a rank died"):
        step.result(10.0)


def test_old_restarts_do_not_count(executor: MultiprocExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_restarts", RestartBudget((0.0,) * MAX_RESTARTS, seconds=0.0))
    for number in range(MAX_RESTARTS + 2):
        lose(executor, number)
    assert executor.state.restarts == MAX_RESTARTS + 2


def test_full_folder_for_temporary_files_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    config = EngineConfig(
        model=ModelConfig(path=make_tiny_model(tmp_path), name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"s"),
        parallel=ParallelConfig(tensor_parallel_size=2),
    )
    executor = MultiprocExecutor(config, print)
    with pytest.raises(EngineError, match=r"no folder to meet in .*: free some space, or set TMPDIR to a folder"):
        executor.load()
    executor.close()
