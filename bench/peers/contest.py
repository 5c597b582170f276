"""Servers measured side by side: all are started, only one runs at a time, and every measurement rotates among them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from app.load.answer import RequestFailedError, StreamBrokenError
from bench.peers import metrics, suites
from bench.peers.arms import Arm, Setup
from bench.peers.points import Point, Trial
from bench.peers.prompts import PromptMaker
from bench.peers.record import Record
from bench.peers.server import PeerServer

Say = Callable[[str], None]
_IDLE_SAMPLE_SECONDS = 1.0


class Contest:
    """Owner of the servers of `arms`. Enter `contest.started()`, then measure rounds.

    Samples are added to `record` as they are measured. `logs` is the folder for the output of the servers.
    """

    def __init__(
        self, arms: Sequence[Arm], points: Sequence[Point], make: PromptMaker, record: Record, logs: Path, say: Say
    ) -> None:
        self._arms = arms
        self._points = points
        self._make = make
        self._record = record
        self._logs = logs
        self._say = say
        self._servers: list[PeerServer] = []

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Start every server that the points need, one at a time. Raise ServerFailedError.

        Each server is warmed up, its memory is measured, and it is frozen before the next one starts.
        """
        async with AsyncExitStack() as stack:
            for setup in Setup:
                if any(point.setup is setup for point in self._points):
                    for arm in self._arms:
                        await self._start(stack, arm, setup)
            yield

    async def measure_round(self, number: int, *, turns: bool) -> None:
        """Measure each point of each arm once, in an order of arms that shifts from round to round.

        A measurement that fails is reported and leaves no sample. Raise ServerFailedError if its server cannot be
        restarted.

        number: the round, counted from 0.
        turns: whether the suites of turns and of long prompts are part of the round.
        """
        free = psutil.virtual_memory().available / 1e9
        self._say(f"round {number + 1} · other load on the machine {await other_load():.0%} · {free:.1f} GB free")
        shift = number % len(self._arms)
        for point in self._points:
            if point.setup is Setup.SERVING or turns:
                for arm in (*self._arms[shift:], *self._arms[:shift]):
                    if point.setup in arm.launches:
                        await self._measure(point, arm, number)
        if any(point.setup is Setup.SERVING for point in self._points):
            for arm in self._arms:
                if server := self._find(arm, Setup.SERVING):
                    self._weigh(metrics.RSS_LOADED, server, number)

    async def _measure(self, point: Point, arm: Arm, number: int) -> None:
        server = self._find(arm, point.setup)
        assert server is not None
        where = f"round {number + 1} · {point.name} · {arm.name}"
        server.thaw()
        try:
            seed = f"{number}/{point.name}"
            await suites.warm_up(server.client, self._make, 1, f"{seed}/warm")
            measured = await point.measure(Trial(server.client, arm.fixed_length, arm.pin, seed))
        except (RequestFailedError, StreamBrokenError) as error:
            self._say(f"{where}: FAILED, {error}; restarting the server")
            await server.stop()
            await server.start()
        else:
            for metric, value in measured.items():
                self._record.add(metric, arm.name, number, value)
            self._say(f"{where}: " + ", ".join(f"{value:,.0f}" for value in measured.values()))
        finally:
            server.freeze()

    async def _start(self, stack: AsyncExitStack, arm: Arm, setup: Setup) -> None:
        launch = arm.launches.get(setup)
        if launch is None or self._find(arm, setup):
            return
        server = PeerServer(arm.name, launch, self._logs / f"{arm.name} {setup.name}.log")
        stack.push_async_callback(server.stop)
        self._say(f"starting {arm.name} ({setup.value})")
        seconds = await server.start()
        self._say(f"{arm.name} is ready after {seconds:.1f} s")
        self._servers.append(server)
        serves = setup is Setup.SERVING
        await suites.warm_up(server.client, self._make, 8 if serves else 1, f"start/{setup}")
        if serves:
            self._record.add(metrics.START, arm.name, 0, seconds)
            self._weigh(metrics.RSS_READY, server, 0)
        server.freeze()

    def _weigh(self, metric: str, server: PeerServer, number: int) -> None:
        if rss := server.rss_bytes():
            self._record.add(metric, server.name, number, rss / 1e6)

    def _find(self, arm: Arm, setup: Setup) -> PeerServer | None:
        """Find the arm's server for that setup. Setups with equal launches share a server."""
        launch = arm.launches.get(setup)
        return next((each for each in self._servers if each.name == arm.name and each.launch == launch), None)


async def other_load() -> float:
    """Measure the share of processor time, from 0 to 1, that other processes take while all servers are frozen."""
    psutil.cpu_percent()
    await asyncio.sleep(_IDLE_SAMPLE_SECONDS)
    return float(psutil.cpu_percent()) / 100
