"""Results of copies that no step's output has reported yet."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from cache_tiers.npu.streams import StreamMark
from cache_tiers.transfer import TransferJob, TransferResult


class CopyBatch(Protocol):
    """Copies that end together."""

    @property
    def job_ids(self) -> Iterable[int]:
        """The jobs, each of which gets a result."""

    def has_ended(self) -> bool:
        """Return whether all copies have ended; the calling thread does not wait."""

    def results(self) -> Sequence[TransferResult]:
        """Wait for the copies, and return a result for each job."""


@dataclass(frozen=True, slots=True)
class EndedBatch:
    """Copies that ended, or failed, before the batch was made."""

    ended: Sequence[TransferResult]

    @property
    def job_ids(self) -> Iterable[int]:
        """See CopyBatch."""
        return [result.job_id for result in self.ended]

    def has_ended(self) -> bool:
        """See CopyBatch."""
        return True

    def results(self) -> Sequence[TransferResult]:
        """See CopyBatch."""
        return self.ended


@dataclass(frozen=True, slots=True)
class QueuedBatch:
    """Copies of one direction between two points of a stream."""

    jobs: Sequence[TransferJob]
    begin: StreamMark
    end: StreamMark

    @property
    def job_ids(self) -> Iterable[int]:
        """See CopyBatch."""
        return [job.job_id for job in self.jobs]

    def has_ended(self) -> bool:
        """See CopyBatch."""
        return self.end.is_reached()

    def results(self) -> Sequence[TransferResult]:
        """See CopyBatch."""
        self.end.wait()
        each = self.end.seconds_since(self.begin) / len(self.jobs)
        return [TransferResult(job.job_id, each) for job in self.jobs]


class OwedResults:
    """A ledger of the copies of every step. One thread numbers steps and adds batches, one thread takes results in the
    order of the steps.

    A step takes no result of a later one, although that may have been submitted by then.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._num_steps = 0
        self._batches: list[tuple[int, CopyBatch]] = []

    def begin_step(self) -> int:
        """Return the number of the next step."""
        self._num_steps += 1
        return self._num_steps

    def add(self, step: int, batch: CopyBatch) -> None:
        """Add a batch of copies of step `step`, whose results are owed from now on."""
        with self._lock:
            self._batches.append((step, batch))

    def refuse(self, step: int, jobs: Iterable[TransferJob], error: str) -> None:
        """Add a failure for each of `jobs` that is in no batch of the step, because the step failed earlier."""
        begun = {job_id for number, batch in self._up_to(step) if number == step for job_id in batch.job_ids}
        failed = [TransferResult(job.job_id, 0.0, error) for job in jobs if job.job_id not in begun]
        self.add(step, EndedBatch(failed))

    def take(self, step: int, *, wait: bool) -> tuple[TransferResult, ...]:
        """Take the results of copies of this and earlier steps that have ended.

        wait: wait for all of these copies first. No result of them is then owed, even if the device raises.
        """
        due = [entry for entry in self._up_to(step) if wait or entry[1].has_ended()]
        try:
            results = [result for _, batch in due for result in batch.results()]
        except BaseException:
            if wait:
                self._drop(due)
            raise
        self._drop(due)
        return tuple(results)

    def forget(self, step: int) -> None:
        """Wait for all copies of this and earlier steps, and drop their results."""
        for entry in self._up_to(step):
            # A device that does not even wait copies nothing either.
            with suppress(Exception):
                entry[1].results()
            self._drop([entry])

    def _up_to(self, step: int) -> list[tuple[int, CopyBatch]]:
        with self._lock:
            return [entry for entry in self._batches if entry[0] <= step]

    def _drop(self, taken: Sequence[tuple[int, CopyBatch]]) -> None:
        gone = {id(batch) for _, batch in taken}
        with self._lock:
            self._batches = [entry for entry in self._batches if id(entry[1]) not in gone]
