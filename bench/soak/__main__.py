"""`python -m bench.soak`: half an hour of many chats on small tiers while Redis breaks in another way every 10 s.

It passes if no client got anything but what it should, the server's memory stays where it was after five minutes, what
owns blocks finds nothing wrong with itself at the end, and nothing in the log says otherwise. Linux.
"""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
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
from bench.soak.faults import FAULTS, Site, schedule, strike_all
from bench.soak.observed import Counts, MemorySample, bad_lines, read_counts, summarise_memory
from bench.soak.plan import SoakPlan
from bench.soak.report import SoakReport, passed, to_json, to_markdown
from bench.soak.scripts import Answers, Script, make_scripts, sampling
from tests.redis_server import RedisServer

RESULTS = Path(__file__).parents[1] / "results"
SAMPLE_SECONDS = 10.0
TELL_SECONDS = 60.0
CHECK_WITHIN_SECONDS = 120.0
ASK_AGAIN_SECONDS = 5.0
NOTHING_SAVED = ("--rdbcompression", "no", "--rdbchecksum", "no")


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, print, write soak.json and soak.md. Returns 0, 1 if a target is missed, 143 after SIGTERM."""
    arguments = _parse(argv)
    plan = SoakPlan(seconds=arguments.minutes * 60, seed=arguments.seed, chats=arguments.chats)
    try:
        with tempfile.TemporaryDirectory(prefix="ebb-soak-", ignore_cleanup_errors=True) as root:
            report = asyncio.run(Soak(plan, Path(root)).run())
    except ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        return 128 + signal.SIGTERM
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "soak.json").write_text(to_json(report), encoding="utf-8")
    (arguments.out / "soak.md").write_text(to_markdown(report), encoding="utf-8")
    print(to_markdown(report))
    return 0 if passed(report) else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1, help="decides what is said, when, and what breaks")
    parser.add_argument("--chats", type=int, default=64)
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args(argv)


class Soak:
    """One run. root: a folder for state, which its owner removes."""

    def __init__(self, plan: SoakPlan, root: Path) -> None:
        self._plan = plan
        self._root = root
        self._scripts = make_scripts(plan)
        self._answers = Answers()
        self._tally = Tally()
        self._faults: Counter[str] = Counter()
        self._memory: list[MemorySample] = []
        self._began = time.monotonic()

    async def run(self) -> SoakReport:
        """All of it. Raises ServerFailedError if the server ends by itself."""
        task = asyncio.current_task()
        assert task is not None
        # Without this a SIGTERM would end the soak and leave its servers running.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        folder = self._root / "redis"
        folder.mkdir()
        redis = RedisServer(
            folder, "--maxmemory", str(self._plan.redis_memory), "--maxmemory-policy", "allkeys-lru", *NOTHING_SAVED
        )
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
            bad_lines=tuple(bad_lines(self._root / "soaked" / "server.log")),
        )

    async def _soaked(self, site: Site) -> tuple[Counts, int]:
        """The counts of the server, when all chats have gone and it has checked itself, and how often it then did."""
        settings = self._plan.server(f"unix://{self._root / 'link'}")
        async with EbbServer(settings, self._root / "soaked") as server, _session(server) as session:
            client = SoakClient(session, sampling(self._plan))
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
        try:
            async with asyncio.TaskGroup() as tasks:
                for chat in chats:
                    tasks.create_task(chat.live())
                tasks.create_task(asyncio.to_thread(strike_all, strikes, site, faults_over, self._faults))
                tasks.create_task(self._watch(server.pid, over))
                await asyncio.sleep(self._plan.seconds)
                over.set()
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        finally:
            faults_over.set()

    async def _watch(self, pid: int, over: asyncio.Event) -> None:
        process, told = psutil.Process(pid), 0.0
        while not over.is_set():
            seconds = time.monotonic() - self._began
            try:
                self._memory.append(MemorySample(seconds, process.memory_info().rss))
            except psutil.Error as error:
                raise ServerFailedError(f"the server ended after {seconds:.0f} s: {error}") from error
            if seconds >= told + TELL_SECONDS:
                told = seconds
                self._tell()
            await asyncio.sleep(SAMPLE_SECONDS)

    def _tell(self) -> None:
        tally, last = self._tally, self._memory[-1]
        print(
            f"[{last.seconds / 60:4.1f} min] {tally.turns} turns, {self._answers.compared} compared, "
            f"{self._faults.total()} faults, {tally.errors.total()} client errors, {last.rss / 1e6:.0f} MB",
            file=sys.stderr,
            flush=True,
        )

    async def _idle(self, server: EbbServer, client: SoakClient) -> tuple[Counts, int]:
        """Wait until it has checked itself. It does so when it becomes idle, but not at once after another check."""
        await settle(server, CHECK_WITHIN_SECONDS)
        before = read_counts(await client.metrics())
        deadline = time.monotonic() + CHECK_WITHIN_SECONDS
        while True:
            conversation = await client.begin(self._scripts[0].system)
            await client.say(conversation, self._scripts[0].questions[0])
            await asyncio.sleep(ASK_AGAIN_SECONDS)
            counts = read_counts(await client.metrics())
            made = counts.all_checks - before.all_checks
            if made or time.monotonic() > deadline:
                return counts, made

    async def _replayed(self) -> int:
        """How many answers a server without reuse gave once more."""
        before = self._answers.compared
        scripts = self._scripts[: self._plan.replayed]
        async with EbbServer(self._plan.oracle(), self._root / "oracle") as server, _session(server) as session:
            client = SoakClient(session, sampling(self._plan))
            await asyncio.gather(*(self._replay(client, script) for script in scripts))
        return self._answers.compared - before

    async def _replay(self, client: SoakClient, script: Script) -> None:
        conversation = await client.begin(script.system)
        for turn in range(self._answers.turns(script)):
            text = await client.say(conversation, script.questions[turn])
            try:
                self._answers.compare(script, turn, text)
            except NotAsExpectedError as error:
                self._tally.note(error)


def _session(server: EbbServer) -> aiohttp.ClientSession:
    """A connection for each request: one that is used again may just be closed by the server."""
    return aiohttp.ClientSession(server.client.base_url, connector=aiohttp.TCPConnector(limit=0, force_close=True))


if __name__ == "__main__":
    raise SystemExit(main())
