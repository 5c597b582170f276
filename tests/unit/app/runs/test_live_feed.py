"""One sampler for all followers: the samples they receive, and the times at which it runs."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from app.host.engine_host import EngineHost
from app.runs.live_feed import KEPT, LiveFeed
from engine.testing.replay_engine import ReplayEngine


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0
        self._ticks: asyncio.Queue[float] = asyncio.Queue()
        self._waits = asyncio.Event()

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        assert seconds <= 1.0
        self._waits.set()
        self.now += await self._ticks.get()

    async def tick(self, seconds: float = 1.0) -> None:
        """Advance the clock and wait until the sample is taken."""
        async with asyncio.timeout(20):
            await self._waits.wait()
            self._waits.clear()
            self._ticks.put_nowait(seconds)
            await self._waits.wait()


class Rig:
    def __init__(self) -> None:
        self.engine = ReplayEngine()
        self.host = EngineHost()
        self.host.ready(self.engine, "identity")
        self.clock = Clock()
        self.feed = LiveFeed(self.host, clock=self.clock, pause=self.clock.pause)


@pytest.fixture
def rig() -> Rig:
    return Rig()


class Follower:
    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        self._frames = frames

    async def read(self) -> list[tuple[str, dict[str, Any]]]:
        """Read the next chunk. Return (id, sample) for each of its events."""
        async with asyncio.timeout(20):
            return events_of(await anext(self._frames))


def events_of(frames: bytes) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for frame in frames.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in frame.split("\n"))
        assert fields["event"] == "sample"
        found.append((fields["id"], json.loads(fields["data"])))
    return found


@asynccontextmanager
async def following(feed: LiveFeed, after: int = 0) -> AsyncIterator[Follower]:
    async with aclosing(feed.follow(after)) as frames:
        yield Follower(frames)


async def test_follower_gets_current_sample_and_then_rates(rig: Rig) -> None:
    async with following(rig.feed) as follower:
        [(_, first)] = await follower.read()
        assert first["tiers"]["device"]["used_bytes"] == 20_000
        assert first["generated_tokens_per_second"] is None
        await rig.clock.tick()
        [(_, second)] = await follower.read()
        assert second["generated_tokens_per_second"] == 0


async def test_follower_gets_kept_samples_or_those_since_its_cursor(rig: Rig) -> None:
    async with following(rig.feed) as first:
        await first.read()
        for _ in range(KEPT + 5):
            await rig.clock.tick()
        async with following(rig.feed) as later:
            kept = await later.read()
        assert len(kept) == KEPT
        async with following(rig.feed, rig.feed.cursor(kept[-3][0])) as back:
            assert await back.read() == kept[-2:]
        # The cursor of another process, or an invalid one, starts with the oldest kept sample.
        assert [rig.feed.cursor(id_) for id_ in ("live_x.7", "", "7", f"{kept[0][0]}x")] == [0, 0, 0, 0]


async def test_slow_follower_skips_samples_and_delays_no_other(rig: Rig) -> None:
    async with following(rig.feed) as quick, following(rig.feed) as slow:
        await quick.read()
        await slow.read()
        for _ in range(3):
            await rig.clock.tick()
            [newest] = await quick.read()
        assert await slow.read() == [newest]


async def test_one_sampler_runs_only_while_there_are_followers(rig: Rig) -> None:
    feed = rig.feed

    def works() -> bool:
        return feed.is_sampling

    assert not works()
    async with following(feed) as first:
        await first.read()
        async with following(feed) as second:
            await second.read()
            await rig.clock.tick()
            assert await first.read() == await second.read()
        assert works()
    assert not works()
    # Nothing was sampled for an hour without followers: no rate covers that hour, and no old sample is kept.
    rig.clock.now += 3600
    rig.clock._waits.clear()
    async with following(feed) as back:
        [(_, sample)] = await back.read()
        assert sample["generated_tokens_per_second"] is None


async def test_server_stop_or_sampler_failure_ends_streams(rig: Rig) -> None:
    async with aclosing(rig.feed.follow()) as frames:
        await anext(frames)
        rig.feed.stop()
        assert [frame async for frame in frames] == [b"event: server_restart\nretry: 500\ndata: {}\n\n"]

    other = Rig()
    async with aclosing(other.feed.follow()) as frames:
        await anext(frames)
        sampling = other.feed._sampling
        assert sampling is not None
        other.engine.stats = None  # type: ignore[method-assign, assignment]
        await other.clock._waits.wait()
        other.clock._ticks.put_nowait(1.0)
        assert [frame async for frame in frames] == []
        with pytest.raises(TypeError):
            await sampling


async def test_nothing_is_sent_without_engine(rig: Rig) -> None:
    engine, rig.host.engine = rig.host.engine, None
    async with following(rig.feed) as follower:
        reading = asyncio.ensure_future(follower.read())
        # The sampler starts with the first read.
        await asyncio.sleep(0)
        await rig.clock.tick()
        assert not reading.done()
        rig.host.engine = engine
        await rig.clock.tick()
        assert len(await reading) == 1
