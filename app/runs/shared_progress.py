"""Progress of prompts, from the server that computes them to the followers at other servers.

Reports are not stored. A notice that is lost leaves a follower without one until the next.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Final

from app.runs.outbox import Outbox
from app.storage.connection import NOTICE_CHARACTERS, DatabaseConnection
from app.storage.database import Database
from engine.api.outputs import PromptProgress

READING: Final = "reading"
"""Topic of notices with a JSON array: the id of a run and the newest report of its prompt's progress, for each."""

_REPORTS_OF_A_NOTICE: Final = NOTICE_CHARACTERS // 350


class SharedProgress:
    """Owner of the reports that other servers do not have yet."""

    def __init__(self, database: Database, is_alone: Callable[[], bool]) -> None:
        """Prepare to send. is_alone: as in `SharedChanges`."""
        self._is_alone = is_alone
        self._outbox = Outbox[str, PromptProgress](database, _notify, "reports")

    def add(self, run_id: str, progress: PromptProgress) -> None:
        """Send a report to the other servers, if there are any, in place of an earlier one that waits."""
        if self._is_alone():
            return
        self._outbox.waiting[run_id] = progress
        self._outbox.send()

    async def stop(self) -> None:
        """Stop sending."""
        await self._outbox.stop()


def _notify(reports: Mapping[str, PromptProgress], connection: DatabaseConnection) -> None:
    names = [each.name for each in fields(PromptProgress)]
    items = [(run_id, {name: getattr(report, name) for name in names}) for run_id, report in reports.items()]
    for begin in range(0, len(items), _REPORTS_OF_A_NOTICE):
        connection.notify(READING, json.dumps(items[begin : begin + _REPORTS_OF_A_NOTICE]))


def reports_in(text: str) -> Iterator[tuple[str, PromptProgress]]:
    """Yield the reports of a notice, each with the id of its run."""
    for run_id, report in json.loads(text):
        yield run_id, PromptProgress(**report | {"reused": Counter(report["reused"])})
