"""A copy has ended when it has on every rank, and ranks may say so in outputs of different steps."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue

import pytest

from cache_tiers.transfer import TransferResult
from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig
from engine.executor import multiproc
from engine.executor.messages import Call, Step, StepEnded
from engine.executor.multiproc import MultiprocExecutor
from engine.executor.rank_processes import RankDiedError
from engine.executor.workers import WorkersLostError
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.loaded_model import LoadedModel
from tests.tiny_models import make_tiny_model

Said = Sequence[int] | str
"""Report of one rank about one step: the jobs that have ended, or the error."""


class SayingRanks:
    """Two ranks that report for the next step what the test puts into `said`; None, and they die."""

    pids = (1, 2)

    def __init__(self) -> None:
        self.said: SimpleQueue[tuple[Said, Said] | None] = SimpleQueue()
        self.sent: SimpleQueue[int] = SimpleQueue()

    def call(self, _call: Call) -> list[LoadedModel | None]:
        return [LoadedModel(vocab_size=10, max_position_embeddings=10, block_nbytes=1, free=1, numerics="toy")] * 2

    def steps(self, _on_answer: object) -> Iterator[list[StepEnded]]:
        while (said := self.said.get()) is not None:
            step_id = self.sent.get()
            yield [ended(step_id, rank, each) for rank, each in enumerate(said)]
        raise RankDiedError("a rank died")

    def send(self, message: object) -> None:
        if isinstance(message, Step):
            self.sent.put(message.output.step_id)

    def end(self) -> None:
        self.said.put(None)

    def close(self) -> None:
        pass


def ended(step_id: int, rank: int, said: Said) -> StepEnded:
    if isinstance(said, str):
        return StepEnded(step_id, error=said)
    results = tuple(TransferResult(job_id, 1.0 + rank, None if job_id else "no room") for job_id in said)
    return StepEnded(step_id, ModelRunnerOutput(step_id=step_id, sampled_token_ids={}, transfers=results))


class Ranks:
    """An executor over `SayingRanks`."""

    def __init__(self, executor: MultiprocExecutor, ranks: SayingRanks) -> None:
        self.executor = executor
        self.ranks = ranks
        self.num_steps = 0

    def execute(self, *, tokens: bool = True) -> Future[ModelRunnerOutput]:
        self.num_steps += 1
        return self.executor.execute(
            SchedulerOutput(step_id=self.num_steps, num_scheduled_tokens={"r": 1} if tokens else {})
        )

    def step(self, first: Said, second: Said, *, tokens: bool = True) -> list[int]:
        """Make a step of which the ranks say this, and return the jobs that have ended."""
        future = self.execute(tokens=tokens)
        self.ranks.said.put((first, second))
        return [result.job_id for result in future.result(10.0).transfers]


@pytest.fixture
def ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ranks]:
    saying = SayingRanks()
    monkeypatch.setattr(multiproc, "RankProcesses", lambda *_: saying)
    config = EngineConfig(
        model=ModelConfig(path=make_tiny_model(tmp_path), name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"s"),
        parallel=ParallelConfig(tensor_parallel_size=2),
    )
    executor = MultiprocExecutor(config, print)
    executor.load()
    executor.begin()
    yield Ranks(executor, saying)
    executor.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ranks")]


def test_copy_ends_when_last_rank_has_said_so(ranks: Ranks) -> None:
    assert ranks.step([1], [2]) == []
    assert ranks.step([2, 3], []) == [2]
    assert ranks.step([], [3, 1]) == [1, 3]
    assert ranks.step([], []) == []


def test_copy_is_as_slow_as_its_slowest_rank_and_fails_on_one(ranks: Ranks) -> None:
    future = ranks.execute()
    ranks.ranks.said.put(([0, 1], [1, 0]))
    results = {result.job_id: result for result in future.result(10.0).transfers}
    assert (results[1].seconds, results[1].error) == (2.0, None)
    assert results[0].error == "no room"


def test_copies_of_step_that_fails_on_one_rank_end_later(ranks: Ranks) -> None:
    with pytest.raises(EngineError, match="out of luck"):
        ranks.step("out of luck", [1, 2])
    assert ranks.step([1], []) == [1]
    assert ranks.step([2], [], tokens=False) == [2]


def test_failed_step_without_tokens_leaves_no_part_behind(ranks: Ranks) -> None:
    assert ranks.step([1], []) == []
    with pytest.raises(EngineError, match="out of luck"):
        ranks.step("out of luck", [1, 2], tokens=False)
    assert ranks.step([], []) == []
    assert ranks.executor._transfers._parts == {}


def test_lost_ranks_leave_no_part_behind(ranks: Ranks) -> None:
    assert ranks.step([1], []) == []
    future = ranks.execute()
    ranks.ranks.said.put(None)
    with pytest.raises(WorkersLostError):
        future.result(10.0)
    assert ranks.executor._transfers._parts == {}
