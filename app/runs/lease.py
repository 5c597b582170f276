"""The lease of this server on its runs, renewed every second.

Each renewal shows what differs between this server and the database:

- runs that another server has taken over, since this one could not renew its lease. The engine stops working on them;
- runs that a client of another server wants to end;
- runs of this server that it does not know, or has ended (`RunRegistry.orphans`): the COMMIT that made this server
  their owner had no answer in time, or a crash of the database lost their end. The second renewal frees them;
- whether this server leads, and so does the work that one server does for all.

After it, the server takes over the runs of servers whose lease has expired (`LeaseWatch`). If its engine is
not ready, it leaves them to the others, unless no other one is ready either.

A file has one server. There this one leads and writes nothing, but compares its runs with the file as often.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.runs.service import RunRegistry
from app.runs.unstored_ends import REFUSALS
from app.storage.database import Database
from app.storage.notices import NoticeHandlers
from app.storage.servers import LEASE_SECONDS, RELEASED, OtherSecretError, ServerStore, Standing

LATE_SECONDS: Final = LEASE_SECONDS / 2
"""Longest time between two looks that follow each other closely."""


class LeaseWatch:
    """Numbers of renewals of other servers, and when each was seen first. Times are monotonic seconds.

    A lease has expired once looks that follow each other closely have shown no renewal for LEASE_SECONDS. So neither a
    step of a clock nor an outage of the database ends a lease: after an outage, all leases have the full time again.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}
        self._looked_at = float("-inf")

    def note(self, renewals: Mapping[str, int], now: float) -> set[str]:
        """Note the renewals of all live servers, as a look that ended at `now` showed them.

        Returns the servers that have renewed their lease since the look before.
        """
        before = self._seen
        renewed = {server for server, count in renewals.items() if server in before and before[server][0] != count}
        is_late = now - self._looked_at > LATE_SECONDS
        self._seen = {
            server: (count, now if is_late or server not in before or server in renewed else before[server][1])
            for server, count in renewals.items()
        }
        self._looked_at = now
        return renewed

    def expired(self, now: float) -> dict[str, int]:
        """Return the servers whose lease has expired at `now`, each with its last number of renewals."""
        if now - self._looked_at > LATE_SECONDS:
            return {}
        return {server: count for server, (count, since) in self._seen.items() if now - since >= LEASE_SECONDS}


RENEW_SECONDS: Final = 1.0
RELEASE_SECONDS: Final = 2.0
"""Time limit of the release, for which the clients wait."""

logger = logging.getLogger(__name__)


class Lease:
    """Owner of the task that renews the lease.

    leads: whether this server does the work that one server does for all.
    is_alone: whether no other server uses the database.
    former: the server that this process replaces; None if there was none.
    """

    def __init__(
        self,
        database: Database,
        servers: ServerStore,
        runs: RunRegistry,
        take_over: Callable[[], Awaitable[None]],
        name: Path,
        *,
        is_ready: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the lease.

        take_over: takes over the runs of servers that have ended.
        name: file with the name of the server that ran in this state directory last.
        is_ready: whether the engine can continue runs at once.
        clock: monotonic seconds.
        """
        self._database = database
        self._servers = servers
        self._runs = runs
        self._take_over = take_over
        self._name = name
        self._is_ready = is_ready
        self._clock = clock
        self._watch = LeaseWatch()
        self._others_ready = False
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self._task: asyncio.Task[None] | None = None
        self._takes_over = True
        self._orphans = set[str]()
        self.leads = not database.is_shared
        self.is_alone = not database.is_shared
        self.former: str | None = None

    @property
    def claims(self) -> bool:
        """Whether this server takes over runs now."""
        return self._takes_over and (self._is_ready() or not self._others_ready)

    async def begin(self, secret: bytes) -> None:
        """Take the lease, and free the runs of the server that this process replaces.

        secret: digest of the secret file.

        Raise OutageError, and UnusableDatabaseError if another server has another secret.
        """
        if self._database.is_shared:
            self.former = await asyncio.to_thread(_read, self._name)
            self._note(await self._begun(secret))
            await asyncio.to_thread(_write, self._name, self._database.server)
        self._task = asyncio.create_task(self._keep(), name="renew-lease")

    async def _begun(self, secret: bytes) -> Standing:
        while True:
            expired = self._watch.expired(self._clock())
            try:
                return await self._servers.begin(self.former, secret, is_ready=self._is_ready(), expired=expired)
            except OtherSecretError as error:
                # The lease may be that of a server that ended without notice.
                if self._watch.note(error.renewals, self._clock()):
                    raise
            await asyncio.sleep(RENEW_SECONDS)

    def stop_takeovers(self) -> None:
        """Take over no more runs, because this server is about to stop. The runs that it has stay with it."""
        self._takes_over = False
        self._settled.set()

    async def stop(self) -> None:
        """End the lease, so that the other servers continue the runs that are left. A second call does nothing."""
        task, self._task = self._task, None
        if task is None:
            return
        self._settled.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if not self._database.is_shared:
            return
        self.leads = False
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._servers.release()
        except Exception as error:
            reason = str(error) or "the database does not answer"
            logger.warning("other servers continue the answers of this one only when its lease has expired: %s", reason)

    @property
    def notice_handlers(self) -> NoticeHandlers:
        """Handlers of the notices of other servers."""
        return {RELEASED: self._on_released}

    def _on_released(self, _text: str) -> None:
        # A notice reaches its sender too, which stops or has stopped.
        if self._task is not None and self._takes_over:
            self._news.set()
            self._settled.clear()

    async def settled(self) -> None:
        """Wait while this server takes over the runs of another one that has just released them.

        The wait ends after LEASE_SECONDS, since the database may be away.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(LEASE_SECONDS):
                await self._settled.wait()

    async def renew(self) -> None:
        """Renew the lease once, and do what follows from the state of the database."""
        driven = self._runs.driven()
        standing = await self._renewed()
        self._note(standing)
        self._on_standing(standing, {run.id for run in driven})
        has_orphans = self._takes_over and await self._settle_orphans(standing)
        if self.claims and (standing.is_work_left or has_orphans):
            await self._take_over()

    async def _renewed(self) -> Standing:
        if not self._database.is_shared:
            return await self._servers.standing_alone()
        return await self._servers.renew(
            is_ready=self._takes_over and self._is_ready(), expired=self._watch.expired(self._clock())
        )

    def _note(self, standing: Standing) -> None:
        self._watch.note(standing.others, self._clock())
        self.leads, self.is_alone, self._others_ready = standing.leads, not standing.others, standing.others_ready

    def _on_standing(self, standing: Standing, driven: set[str]) -> None:
        """Stop working on runs that are lost, or that a client of another server wants to end.

        driven: runs that the engine worked on before the renewal. A younger run may not be in it.
        """
        for run in self._runs.driven():
            held = standing.runs.get(run.id)
            if held is not None and held.epoch == run.epoch:
                if held.is_cancelled:
                    self._runs.stop(run)
            elif run.id in driven and run.answer.status == "in_progress":
                self._runs.mark_lost(run)

    async def _settle_orphans(self, standing: Standing) -> bool:
        """Settle the runs that were orphans at the last renewal too, and return whether there were any.

        A younger one may just begin, or end.
        """
        orphans = self._runs.orphans(standing.runs)
        due, self._orphans = orphans & self._orphans, orphans
        if due:
            await self._runs.settle_orphans(due)
        return bool(due)

    async def _keep(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS):
                    await self._news.wait()
            self._news.clear()
            try:
                await self.renew()
            except REFUSALS as error:
                self.leads = not self._database.is_shared
                logger.warning("this server could not look for its runs in the database: %s", error)
            except Exception:
                logger.exception("this server could not look for its runs; the next attempt is in a second")
            # Another server may have released its runs since they were looked for.
            if not self._news.is_set():
                self._settled.set()


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _write(path: Path, server: str) -> None:
    try:
        path.write_text(server, encoding="utf-8")
    except OSError as error:
        logger.warning("%s cannot be written, so a restart continues the answers only after a pause: %s", path, error)
