"""Live figures of the whole server, sampled once a second while a client follows them.

One sampler serves all followers: it starts with the first and stops with the last. Each sample is encoded once. A
follower holds only the number of the last sample that it was sent. A slow reader skips samples and delays no other
follower.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from app.domain.records import new_id
from app.host.engine_host import EngineHost
from app.observability.live_sample import Reading, sample_of
from app.runs.run_log import is_number
from app.schemas.response_bodies.live import LiveSample
from app.transport.sse import encode_json, event_frame, farewell_frame

SAMPLE_SECONDS: Final = 1.0
KEPT: Final = 300
"""Number of samples that a new follower receives: the last five minutes, or fewer if the sampler started later."""
HIT_RATE_SECONDS: Final = 60.0
"""Seconds over which hit rates are computed: one second has too few prompts."""


@dataclass(frozen=True, slots=True)
class _Kept:
    number: int
    at: float
    frame: bytes


class LiveFeed:
    """Live feed of one event loop.

    clock: monotonic seconds.
    pause: sleeps for a number of seconds.
    """

    def __init__(
        self,
        host: EngineHost,
        *,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._host = host
        self._clock = clock
        self._pause = pause
        self._name = new_id("live")
        self._kept: deque[_Kept] = deque(maxlen=KEPT)
        self._readings: deque[Reading] = deque()
        self._number = 0
        self._followers = 0
        self._sampling: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._stopped = False

    @property
    def is_sampling(self) -> bool:
        """Whether the sampler is running."""
        return self._sampling is not None and not self._sampling.done()

    def cursor(self, event_id: str) -> int:
        """Return the sample number in an event id, or 0, before all samples, if the id is not of this feed."""
        name, _, number = event_id.rpartition(".")
        return int(number) if name == self._name and is_number(number) else 0

    async def follow(self, after: int = 0) -> AsyncGenerator[bytes, None]:
        """Yield frames: the kept samples after number `after`, then each new one. Ends when the server stops."""
        sampling = self._begin()
        self._followers += 1
        try:
            seen = self._number
            if behind := b"".join(kept.frame for kept in self._kept if kept.number > after):
                yield behind
            while not sampling.done():
                if seen < self._number:
                    seen = self._number
                    yield self._kept[-1].frame
                else:
                    await self._news.wait()
            if self._stopped:
                yield farewell_frame()
        finally:
            self._followers -= 1
            if self._followers == 0:
                self._rest()

    def stop(self) -> None:
        """Stop the sampler for good. Followers get a `farewell` event, and their streams end."""
        self._stopped = True
        if self._sampling is not None:
            self._sampling.cancel()

    def _begin(self) -> asyncio.Task[None]:
        """Return the sampler, started if it was not running."""
        if self._sampling is not None and not self._sampling.done():
            return self._sampling
        self._readings.clear()
        self._forget(self._clock() - KEPT * SAMPLE_SECONDS)
        self._take()
        self._sampling = asyncio.create_task(self._sample(), name="live sampler")
        # Wake the followers however the sampler ends.
        self._sampling.add_done_callback(lambda _: self._tell())
        if self._stopped:
            self._sampling.cancel()
        return self._sampling

    def _rest(self) -> None:
        if self._sampling is not None:
            self._sampling.cancel()
            # The task ends in a moment. A follower that comes before that starts a new one.
            self._sampling = None

    async def _sample(self) -> None:
        due = self._clock()
        while True:
            # Skip the seconds in which the loop was late: do not catch up.
            due = max(due + SAMPLE_SECONDS, self._clock())
            await self._pause(due - self._clock())
            self._take()

    def _take(self) -> None:
        """Take one sample; none while there is no engine."""
        engine = self._host.engine
        if engine is None:
            return
        stats, at = self._host.stats(), self._clock()
        now = Reading.of(stats, at)
        before = self._readings[-1] if self._readings else now
        self._readings.append(now)
        while self._readings[0].at < at - HIT_RATE_SECONDS:
            self._readings.popleft()
        sample: LiveSample = {"at": round(time.time(), 2), **sample_of(engine, stats, now, before, self._readings[0])}
        self._number += 1
        frame = event_frame("sample", encode_json(sample), f"{self._name}.{self._number}")
        self._kept.append(_Kept(self._number, at, frame))
        self._tell()

    def _forget(self, until: float) -> None:
        while self._kept and self._kept[0].at < until:
            self._kept.popleft()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
