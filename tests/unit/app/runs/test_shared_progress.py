"""Progress of prompts on its way to other servers."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import cast

from app.runs.shared_progress import READING, SharedProgress, reports_in
from app.storage.connection import NOTICE_CHARACTERS, DatabaseConnection
from app.storage.database import Database
from engine.api.outputs import PromptProgress


class Notices:
    """A database that sends a transaction's notices once `gate` is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.sent = list[str]()

    async def write(self, change: Callable[[DatabaseConnection], None], *, durable: bool = True) -> None:
        assert not durable
        await self.gate.wait()
        change(cast("DatabaseConnection", self))

    def notify(self, topic: str, text: str) -> None:
        assert topic == READING
        assert len(text) <= NOTICE_CHARACTERS
        self.sent.append(text)


def progress(done: int) -> PromptProgress:
    return PromptProgress(
        200_000, done, Counter({"device": 4, "redis": done - 4}), "computing", 12.345678901, 4.321098765
    )


async def test_newest_report_of_each_run_is_sent_in_few_notices() -> None:
    notices = Notices()
    shared = SharedProgress(cast("Database", notices), lambda: False)
    ids = [f"run_{number:032x}" for number in range(50)]
    shared.add(ids[0], progress(5))
    await asyncio.sleep(0)
    for done in (100_000, 150_000):
        for run_id in ids:
            shared.add(run_id, progress(done))
    notices.gate.set()
    assert shared._outbox._sending is not None
    await shared._outbox._sending
    assert len(notices.sent) == 4
    received = [report for text in notices.sent for report in reports_in(text)]
    assert received == [(ids[0], progress(5)), *((run_id, progress(150_000)) for run_id in ids)]
    await shared.stop()


async def test_server_that_is_alone_sends_nothing() -> None:
    notices = Notices()
    notices.gate.set()
    shared = SharedProgress(cast("Database", notices), lambda: True)
    shared.add("run_1", progress(5))
    await asyncio.sleep(0)
    await shared.stop()
    assert notices.sent == []
