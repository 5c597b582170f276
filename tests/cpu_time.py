"""CPU time of a server of this process and of its database, which other programs of the machine hardly change."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.storage.store import Store

NANOSECONDS = 1_000_000_000


async def cpu_clock(store: Store) -> Callable[[], float]:
    """Return a clock of the CPU seconds that this process and the sessions of PostgreSQL have used so far."""
    if not store.database.is_shared:
        return time.process_time
    rows = await store.database.read(
        "SELECT pid FROM pg_stat_activity WHERE application_name = current_setting('application_name')"
    )
    sessions = [Path(f"/proc/{row['pid']}/schedstat") for row in rows]

    def seconds() -> float:
        total = time.process_time()
        for session in sessions:
            # A session that has ended counts no more.
            with suppress(FileNotFoundError, ProcessLookupError):
                total += int(session.read_text().split()[0]) / NANOSECONDS
        return total

    return seconds
