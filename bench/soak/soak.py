"""One soak: the servers, the chats, the faults, and the observations during the run."""

import asyncio
import random
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import psutil  # type: ignore[import-untyped]

from app.load.client import LoadClient
from bench.machine import describe_machine
from bench.server import EbbServer, ServerFailedError, settle
from bench.slow_link import SlowLink
from bench.soak.chats import Chat, Tally
from bench.soak.client import STALL_SECONDS, NotAsExpectedError, SoakClient
from bench.soak.disk import DiskSample, sample_disk, summarise_disk
from bench.soak.faults import FAULTS, Site, schedule, strike_all
from bench.soak.observed import Counts, MemorySample, bad_lines, read_counts, summarise_memory
from bench.soak.plan import SoakPlan
from bench.soak.report import SoakReport
from bench.soak.scripts import Answers, Script, make_scripts, sampling
from tests.redis_server import RedisServer

SAMPLE_SECONDS = 10.0
TELL_SECONDS = 60.0
CHECK_WITHIN_SECONDS = 120.0
ASK_AGAIN_SECONDS = 5.0


class Soak:
    """One soak. `root` is a folder for state, which its owner removes."""

    def __init__(self, plan: SoakPlan, root: Path) -> None:
        self._plan = plan
        self._root = root
        self._scripts = make_scripts(plan)
        self._answers = Answers()
        self._tally = Tally()
        self._faults: Counter[str] = Counter()
        self._memory: list[MemorySample] = []
        self._disk: list[DiskSample] = []
        self._began = time.monotonic()

    async def run(self) -> SoakReport:
        """Run the soak. Raise ServerFailedError if the server ends by itself."""
        folder = self._root / "redis"
        folder.mkdir()
        redis = RedisServer(folder, "--maxmemory", str(self._plan.redis_memory), "--maxmemory-policy", "allkeys-lru")
        try:
            with SlowLink(self._root / "link", redis.socket) as link:
                site = Site(redis, link, self._plan.redis_memory, random.Random(f"{self._plan.seed}/bytes"))
                counts, last_checks = await self._soaked(site)
        finally:
            redis.kill()
        replayed = await self._replayed()
        return SoakReport(
            measured_on=datetime.now(UTC).date().isoformat(),
            machine=describe_machine(),
            plan=self._plan,
            conversations=self._tally.conversations,
            turns=self._tally.turns,
            asked=dict(self._tally.asked),
            compared=self._answers.compared - replayed,
            replayed=replayed,
            errors=dict(self._tally.errors),
            details=tuple(self._tally.details),
            faults={kind: self._faults[kind] for kind in FAULTS},
            counts=counts,
            last_checks=last_checks,
            memory=summarise_memory(self._memory, self._plan.settle_seconds),
            memory_samples=tuple(self._memory),
            disk=summarise_disk(self._disk, self._plan.settle_seconds),
            disk_samples=tuple(self._disk),
            bad_lines=tuple(bad_lines(self._root / "soaked" / "server.log")),
        )

    async def _soaked(self, site: Site) -> tuple[Counts, int]:
        """Soak a server until all chats have ended and the server has checked itself.

        Return its counts, and the number of self-checks made after the chats.
        """
        settings = self._plan.server(f"unix://{self._root / 'link'}")
        async with EbbServer(settings, self._root / "soaked") as server, _session(server) as session:
            client = SoakClient(session, sampling(self._plan))
            await client.reserve(self._plan.reserved)
            async with LoadClient(server.client.base_url, stall_seconds=STALL_SECONDS) as plain:
                await self._under_load(server, site, client, plain)
            return await self._idle(server, client)

    async def _under_load(self, server: EbbServer, site: Site, client: SoakClient, plain: LoadClient) -> None:
        over, faults_over = asyncio.Event(), threading.Event()
        chats = [
            Chat(number, self._plan, self._scripts, self._answers, self._tally, client, plain, over)
            for number in range(self._plan.chats)
        ]
        strikes = schedule(self._plan, list(FAULTS))
        self._began = time.monotonic()
        striking = asyncio.create_task(asyncio.to_thread(strike_all, strikes, site, faults_over, self._faults))
        try:
            async with asyncio.TaskGroup() as tasks:
                for chat in chats:
                    tasks.create_task(chat.live())
                tasks.create_task(_watched(striking))
                tasks.create_task(self._watch(server.pid, over))
                await asyncio.sleep(self._plan.seconds)
                over.set()
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        finally:
            # The last fault is undone before Redis is ended, because undoing it may start Redis again.
            faults_over.set()
            await striking

    async def _watch(self, pid: int, over: asyncio.Event) -> None:
        process, told = psutil.Process(pid), 0.0
        while not over.is_set():
            seconds = time.monotonic() - self._began
            try:
                self._memory.append(MemorySample(seconds, process.memory_info().rss))
                descriptors = process.num_fds()
            except psutil.Error as error:
                raise ServerFailedError(f"the server ended after {seconds:.0f} s: {error}") from error
            folder = self._root / "soaked" / "kv"
            self._disk.append(await asyncio.to_thread(sample_disk, folder, seconds, descriptors))
            if seconds >= told + TELL_SECONDS:
                told = seconds
                self._tell()
            await asyncio.sleep(SAMPLE_SECONDS)

    def _tell(self) -> None:
        tally, last = self._tally, self._memory[-1]
        print(
            f"[{last.seconds / 60:4.1f} min] {tally.turns} turns, {self._answers.compared} compared, "
            f"{self._faults.total()} faults, {tally.errors.total()} client errors, {last.rss / 1e6:.0f} MB, "
            f"{self._disk[-1].nbytes / 1e6:.0f} MB on the disk, {self._disk[-1].descriptors} descriptors",
            file=sys.stderr,
            flush=True,
        )

    async def _idle(self, server: EbbServer, client: SoakClient) -> tuple[Counts, int]:
        """Wait until the idle server has checked itself.

        The server does so when it becomes idle, but not soon after another check.
        """
        await settle(server, CHECK_WITHIN_SECONDS)
        before = read_counts(await client.metrics())
        deadline = time.monotonic() + CHECK_WITHIN_SECONDS
        while True:
            await self._replay(client, self._scripts[0], turns=1)
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            counts = read_counts(await client.metrics())
            made = counts.all_checks - before.all_checks
            if made or time.monotonic() > deadline:
                return counts, made

    async def _replayed(self) -> int:
        """Repeat scripts on a server without reuse. Return the number of compared answers."""
        before = self._answers.compared
        scripts = self._scripts[: self._plan.replayed]
        async with EbbServer(self._plan.oracle(), self._root / "oracle") as server, _session(server) as session:
            client = SoakClient(session, sampling(self._plan))
            await asyncio.gather(*(self._replay(client, each, self._answers.turns(each)) for each in scripts))
        return self._answers.compared - before

    async def _replay(self, client: SoakClient, script: Script, turns: int) -> None:
        try:
            conversation = await client.begin(script.system)
            for turn in range(turns):
                self._answers.compare(script, turn, await client.say(conversation, script.questions[turn]))
        except NotAsExpectedError as error:
            self._tally.note(error)


async def _watched(task: asyncio.Task[None]) -> None:
    """Wait for the task without cancelling it."""
    await asyncio.shield(task)


def _session(server: EbbServer) -> aiohttp.ClientSession:
    """Open a session with a connection per request, because the server may be closing one that is reused."""
    return aiohttp.ClientSession(server.client.base_url, connector=aiohttp.TCPConnector(limit=0, force_close=True))
