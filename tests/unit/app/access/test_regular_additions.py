"""Counts and a database that refuses writes or loses connections: the sum has every count once."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from app.access.regular_additions import RegularAdditions
from app.domain.storage_health import CommitUnknownError
from app.storage.errors import DatabaseError

Outcome = Literal["stored", "refused", "lost before", "lost after"]
"""Whether the database stores an addition. `lost`: the connection is, and so the answer."""


class Additions(RegularAdditions[str, int]):
    """Counts, and the sums of a database whose outcomes a test chooses."""

    NAME = "the counts"

    def __init__(self) -> None:
        super().__init__()
        self.counted = Counter[str]()
        self.stored = Counter[str]()
        self.outcome: Outcome = "stored"
        self.answers: list[tuple[Future[bool], bool]] = []
        self.may_end = asyncio.Event()

    def seconds(self) -> float:
        return 0.0

    def take(self) -> Mapping[str, int]:
        taken, self.counted = self.counted, Counter()
        return taken

    def give_back(self, counted: Mapping[str, int]) -> None:
        self.counted.update(counted)

    async def add(self, counted: Mapping[str, int]) -> None:
        await self.may_end.wait()
        if self.outcome == "refused":
            raise DatabaseError("database or disk is full")
        is_stored = self.outcome != "lost before"
        if is_stored:
            self.stored.update(counted)
        if self.outcome != "stored":
            self.answers.append((Future(), is_stored))
            raise CommitUnknownError(self.answers[-1][0])

    def confirm(self) -> None:
        """Let the database say what became of the oldest addition in doubt."""
        if self.answers:
            answer, is_stored = self.answers.pop(0)
            answer.set_result(is_stored)


@given(st.lists(st.sampled_from(("count", "confirm", "stored", "refused", "lost before", "lost after")), max_size=30))
def test_every_count_is_in_the_sum_once(steps: Sequence[Literal["count", "confirm"] | Outcome]) -> None:
    async def live() -> None:
        additions, total = Additions(), 0
        additions.may_end.set()
        for step in steps:
            match step:
                case "count":
                    total += 1
                    additions.counted["alice"] += 1
                case "confirm":
                    additions.confirm()
                case outcome:
                    additions.outcome = outcome
                    await additions.save()
            assert additions.stored["alice"] <= total
        additions.outcome = "stored"
        while additions.answers:
            additions.confirm()
        await additions.stop()
        assert additions.stored["alice"] == total

    asyncio.run(live())


async def test_stop_waits_for_a_running_addition() -> None:
    additions = Additions()
    additions.counted["alice"] = 1
    additions.begin()
    while not additions.lock.locked():  # noqa: ASYNC110
        await asyncio.sleep(0)
    additions.counted["alice"] = 2
    stopping = asyncio.create_task(additions.stop())
    await asyncio.sleep(0)
    additions.may_end.set()
    await stopping
    assert additions.stored == {"alice": 3}
