"""The ledger of copies: each gets one result, in its own step or a later one."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from cache_tiers.npu.owed_results import EndedBatch, OwedResults
from cache_tiers.transfer import Direction, TransferJob, TransferResult


@dataclass
class Batch:
    """A copy. ended: without a wait. broken: the device raises at a wait."""

    job_id: int
    ended: bool = False
    broken: bool = False

    @property
    def job_ids(self) -> Sequence[int]:
        return [self.job_id]

    def has_ended(self) -> bool:
        return self.ended

    def results(self) -> Sequence[TransferResult]:
        if self.broken:
            raise RuntimeError("the device is gone")
        self.ended = True
        return [TransferResult(self.job_id, 0.5)]


def ids(results: Sequence[TransferResult]) -> list[int]:
    return [result.job_id for result in results]


def ledger_of(*batches: Batch) -> tuple[OwedResults, list[int]]:
    """Make a ledger with a batch in each step, and return the numbers of the steps."""
    owed, steps = OwedResults(), []
    for batch in batches:
        steps.append(owed.begin_step())
        owed.add(steps[-1], batch)
    return owed, steps


def test_copies_that_ended_are_reported_once_in_any_order() -> None:
    slow = Batch(1)
    owed, steps = ledger_of(slow, Batch(2, ended=True))
    assert ids(owed.take(steps[-1], wait=False)) == [2]
    assert ids(owed.take(steps[-1], wait=False)) == []
    slow.ended = True
    assert ids(owed.take(steps[-1], wait=False)) == [1]
    assert ids(owed.take(steps[-1], wait=True)) == []


def test_step_takes_no_result_of_later_one() -> None:
    owed, steps = ledger_of(Batch(1), Batch(2, ended=True))
    assert ids(owed.take(steps[0], wait=False)) == []
    assert ids(owed.take(steps[0], wait=True)) == [1]
    assert ids(owed.take(steps[1], wait=True)) == [2]


def test_refused_jobs_are_those_that_were_never_begun() -> None:
    owed, (step,) = ledger_of(Batch(1))
    owed.refuse(step, [TransferJob(number, Direction.STORE, 0, 0) for number in (1, 2)], "the step failed")
    assert ids(owed.take(step, wait=False)) == [2]
    assert ids(owed.take(step, wait=True)) == [1]


def test_device_that_raises_at_question_keeps_results_owed() -> None:
    broken = Batch(1, ended=True, broken=True)
    owed, (step,) = ledger_of(broken)
    owed.add(step, EndedBatch([TransferResult(2, 0.0)]))
    with pytest.raises(RuntimeError):
        owed.take(step, wait=False)
    broken.broken = False
    assert ids(owed.take(step, wait=False)) == [1, 2]


def test_device_that_raises_at_wait_owes_nothing() -> None:
    owed, (step,) = ledger_of(Batch(1, broken=True))
    with pytest.raises(RuntimeError):
        owed.take(step, wait=True)
    assert ids(owed.take(step, wait=True)) == []


def test_forgetting_waits_for_each_copy_of_earlier_steps() -> None:
    first, second, later = Batch(1, broken=True), Batch(2), Batch(3, ended=True)
    owed, steps = ledger_of(first, second, later)
    owed.forget(steps[1])
    assert second.ended
    assert ids(owed.take(steps[2], wait=True)) == [3]
