"""Times of the threads of another process: they tell its own work from the pauses of a busy machine."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

NANOSECONDS: Final = 1_000_000_000


class ThreadTime(NamedTuple):
    """Seconds since the start of a thread. waited: seconds in which it could run, while the machine ran others."""

    ran: float
    waited: float

    @property
    def wanted(self) -> float:
        """Seconds in which it had work, however busy the machine was."""
        return self.ran + self.waited


Times = Mapping[int, ThreadTime]
"""Times of threads by their ids."""

NEW: Final = ThreadTime(0.0, 0.0)


def thread_times(pid: int) -> Times:
    """Return the times of all threads of a process, and of the processes that it started."""
    return dict(_all_times(pid))


def some_times(pid: int, threads: Collection[int]) -> Times:
    """Return the times of those of `threads` of a process that still run."""
    return dict(each for thread in threads for each in _time(pid, thread))


def most_waited(threads: Collection[int], before: Times, after: Times) -> float:
    """Return the longest time for which the machine kept one of `threads` waiting between two measurements."""
    return max((after.get(each, NEW).waited - before.get(each, NEW).waited for each in threads), default=0.0)


def _all_times(pid: int) -> Iterator[tuple[int, ThreadTime]]:
    # Threads and processes end at any time.
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from _time(pid, int(task.name))
            with suppress(FileNotFoundError, ProcessLookupError):
                for child in (task / "children").read_text().split():
                    yield from _all_times(int(child))


def _time(pid: int, thread: int) -> Iterator[tuple[int, ThreadTime]]:
    with suppress(FileNotFoundError, ProcessLookupError):
        ran, waited, _ = Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()
        yield thread, ThreadTime(int(ran) / NANOSECONDS, int(waited) / NANOSECONDS)
