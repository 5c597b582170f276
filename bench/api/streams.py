"""Many concurrent streams: their cost to the server in time and memory, and the lateness of their tokens."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import aiohttp
import psutil  # type: ignore[import-untyped]

from app.observability.loop_lag import LoopLag
from bench.api.frozen_reader import FrozenReader
from bench.api.questions import chat_request, message_request
from bench.api.replay_server import replay_server
from bench.api.stream_reader import CHAT_TEXT, RUN_TEXT, Address, StreamReader, Window
from bench.server import EbbServer
from bench.stats import Spread, spread
from engine.testing.schedule import STEP_SECONDS, clock, steps_until

Kind = Literal["chat completions", "runs"]

OPENED_PER_SECOND = 100
SETTLE_SECONDS = 3.0
WARM_UP_STREAMS = 50
WARM_UP_SECONDS = 2.0
TAIL_STEPS = 20
_KB = 1e3


@dataclass(frozen=True, slots=True)
class StreamsPlan:
    """Size of one measurement.

    seconds: duration of the measured window.
    frozen: readers among the streams that read nothing during that window.
    """

    kind: Kind
    streams: int
    seconds: float
    frozen: int = 0


@dataclass(frozen=True, slots=True)
class StreamsResult:
    """Result of one measurement.

    cores: cores used by all threads of the server.
    late_ms: lateness of each token, from when it was due until its reader had it.
    events: events read per second.
    idle_kb, most_kb: resident memory before the streams, and at its peak.
    whole: streams whose reader received every token.
    reconnections: reconnections of the frozen readers.
    client_cores, client_lag_ms: load of the client, which shows whether it distorted the result.
    """

    plan: StreamsPlan
    cores: float
    late_ms: Spread
    events: float
    idle_kb: float
    most_kb: float
    whole: int
    reconnections: int
    client_cores: float
    client_lag_ms: Spread

    @property
    def kb_per_stream(self) -> float:
        """Resident memory per stream."""
        return (self.most_kb - self.idle_kb) / self.plan.streams


async def measure_streams(plan: StreamsPlan, root: Path) -> StreamsResult:
    """Measure on a new server. Raise ServerFailedError."""
    async with replay_server(root / f"{plan.kind}-{plan.frozen}".replace(" ", "-")) as server:
        address = address_of(server)
        warm_up = StreamsPlan(plan.kind, min(WARM_UP_STREAMS, plan.streams), WARM_UP_SECONDS)
        await _Crowd(warm_up, address, await _conversations(server, warm_up)).read(server.pid)
        return await _Crowd(plan, address, await _conversations(server, plan)).read(server.pid)


class _Crowd:
    """The readers of one measurement."""

    def __init__(self, plan: StreamsPlan, address: Address, conversations: Sequence[str]) -> None:
        self._plan = plan
        self._address = address
        self._conversations = conversations
        opened = clock() + plan.streams / OPENED_PER_SECOND + SETTLE_SECONDS
        first = steps_until(opened)
        self._window = Window(first, first + round(plan.seconds / STEP_SECONDS))
        self._readers: list[StreamReader] = []
        self._frozen: list[FrozenReader] = []

    async def read(self, pid: int) -> StreamsResult:
        """Open the streams one after another, measure, and read them to their ends."""
        server, client = psutil.Process(pid), psutil.Process()
        idle = most = server.memory_info().rss
        lag = list[float]()
        probe = LoopLag(lag.append)
        freezing = await self._open()
        await _sleep_until(self._window.first)
        probe.begin()
        began, cpu, own_cpu = clock(), cpu_seconds(server), cpu_seconds(client)
        while clock() < self._window.last * STEP_SECONDS:
            await asyncio.sleep(0.5)
            most = max(most, server.memory_info().rss)
        seconds = clock() - began
        cores = (cpu_seconds(server) - cpu) / seconds
        client_cores = (cpu_seconds(client) - own_cpu) / seconds
        probe.stop()
        await asyncio.gather(*freezing, *(reader.closed for reader in self._readers))
        return StreamsResult(
            plan=self._plan,
            cores=cores,
            late_ms=spread([late * 1e3 for late in self._window.late]),
            events=len(self._window.late) / seconds,
            idle_kb=idle / _KB,
            most_kb=most / _KB,
            whole=self._whole(),
            reconnections=sum(each.connections - 1 for each in self._frozen),
            client_cores=client_cores,
            client_lag_ms=spread([late * 1e3 for late in lag]),
        )

    async def _open(self) -> list[asyncio.Task[None]]:
        loop = asyncio.get_running_loop()
        freeze_at = self._window.first * STEP_SECONDS
        text = CHAT_TEXT if self._plan.kind == "chat completions" else RUN_TEXT
        freezing = list[asyncio.Task[None]]()
        for number in range(self._plan.streams):
            request = self._request(number)
            if number < self._plan.frozen:
                reader = FrozenReader(self._address, request)
                self._frozen.append(reader)
                freezing.append(asyncio.create_task(reader.read(freeze_at, self._plan.seconds)))
            else:
                _, opened = await loop.create_connection(
                    lambda request=request: StreamReader(request, text, self._window),  # type: ignore[misc]
                    self._address.host,
                    self._address.port,
                )
                self._readers.append(opened)
            await asyncio.sleep(1 / OPENED_PER_SECOND)
        return freezing

    def _request(self, number: int) -> bytes:
        """Build a request for an answer that ends shortly after the measured window."""
        tokens = self._window.last - steps_until(clock()) + TAIL_STEPS
        if self._plan.kind == "chat completions":
            return chat_request(self._address, tokens)
        return message_request(self._address, self._conversations[number], tokens)

    def _whole(self) -> int:
        least = self._window.last - self._window.first + TAIL_STEPS
        read = sum(reader.faults == 0 and reader.steps > least for reader in self._readers)
        return read + sum(each.is_whole and each.num_steps > least for each in self._frozen)


def cpu_seconds(process: psutil.Process) -> float:
    """Return the user and system time of all threads since the process began."""
    times = process.cpu_times()
    return float(times.user + times.system)


async def _conversations(server: EbbServer, plan: StreamsPlan) -> list[str]:
    """Create one empty conversation per stream, if the kind of stream needs any."""
    return [] if plan.kind == "chat completions" else await new_conversations(server, plan.streams)


async def new_conversations(server: EbbServer, count: int) -> list[str]:
    """Create `count` empty conversations and return their ids."""
    made = list[str]()
    async with aiohttp.ClientSession(server.base_url) as session:
        for _ in range(count):
            async with session.post("/api/conversations", json={}) as response:
                made.append((await response.json())["id"])
    return made


def address_of(server: EbbServer) -> Address:
    """Return the address of a running server."""
    parts = urlsplit(server.base_url or "")
    assert isinstance(parts.hostname, str)
    assert parts.port is not None
    return Address(parts.hostname, parts.port)


async def _sleep_until(step: int) -> None:
    await asyncio.sleep(step * STEP_SECONDS - clock())
