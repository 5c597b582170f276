"""How often ranks are started again: three times within ten minutes, then there is no use in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.executor import multiproc
from engine.executor.multiproc import MOST_RESTARTS, MultiprocExecutor
from engine.executor.workers import WorkersLostError
from engine.scheduling.output import SchedulerOutput
from tests.tiny_models import make_tiny_model


def never_up(*_: object) -> None:
    raise EngineError("the device is on fire")


@pytest.fixture
def executor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MultiprocExecutor]:
    """Its ranks end while they start."""
    monkeypatch.setattr(multiproc, "RankProcesses", never_up)
    monkeypatch.setattr(multiproc, "BACKOFF_SECONDS", (0.0,) * MOST_RESTARTS)
    config = EngineConfig(make_tiny_model(tmp_path), "tiny", None, b"s", dtype="float32", tensor_parallel_size=2)
    executor = MultiprocExecutor(config, print)
    yield executor
    executor.close()


def lose(executor: MultiprocExecutor, number: int) -> None:
    """Start again, and wait until that has failed too."""
    executor.restart()
    step = executor.execute(SchedulerOutput(number))
    with pytest.raises(WorkersLostError, match="they could not be started again: the device is on fire"):
        step.result(10.0)


def test_ranks_that_end_again_and_again_are_given_up_with_what_became_of_them(executor: MultiprocExecutor) -> None:
    for number in range(MOST_RESTARTS):
        lose(executor, number)
        assert (executor.state.state, executor.state.restarts) == ("starting", number + 1)
    with pytest.raises(EngineError, match=r"workers were lost 4 times within 600 s, .* the device is on fire"):
        executor.restart()
    assert (executor.state.state, executor.state.pids) == ("failed", (None, None))
    assert executor.state.restarts == MOST_RESTARTS


def test_restarts_are_forgotten_after_a_while(executor: MultiprocExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiproc, "RESTART_SECONDS", 0.0)
    for number in range(MOST_RESTARTS + 2):
        lose(executor, number)
    assert executor.state.restarts == MOST_RESTARTS + 2
