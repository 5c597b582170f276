"""A scene on the real engine: four streams run, and a fault strikes while chats return whose KV is only in Redis."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from app.observability.percentiles import percentile
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import KVReceipt
from engine.api.sampling_params import SamplingParams
from engine.loop.async_llm import AsyncLLMEngine
from engine.scheduling.scheduler import Scheduler

STREAMS = 4
CHATS = 4
CHAT_TOKENS = 1100
ANSWER = 12
FOREVER = 6000
_PATIENCE = 60.0


def chat(number: int) -> list[int]:
    """Build the prompt of a chat that shares no prefix with another one."""
    return [1000 + (number * 7919 + at * 104729) % 20000 for at in range(CHAT_TOKENS)]


@dataclass(frozen=True, slots=True)
class Answer:
    """Complete answer to one prompt.

    ttft: time to first token in seconds.
    """

    token_ids: tuple[int, ...]
    ttft: float
    kv: KVReceipt


@dataclass(slots=True)
class Streams:
    """Requests that run during the whole scene.

    times: for each stream, the times at which output arrived, in `time.perf_counter` seconds.
    """

    times: list[list[float]]
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def gap(self, begin: float, end: float, percent: float) -> float:
        """Return a percentile of the gaps between outputs, over all streams, in seconds.

        Count the gaps that end after `begin` and no later than `end`.
        """
        gaps = [b - a for own in self.times for a, b in pairwise(own) if begin < b <= end]
        return percentile(gaps, percent)


class Scene:
    """Actions on an engine with or without tiers."""

    def __init__(self, engine: AsyncLLMEngine) -> None:
        self.engine = engine

    @property
    def scheduler(self) -> Scheduler:
        """The engine's scheduler, to inspect and to forget blocks above Redis."""
        return self.engine._engine.core.scheduler

    async def ask(self, prompt: Sequence[int], count: int = ANSWER) -> Answer:
        """Generate `count` tokens greedily.

        Raise AssertionError if the answer ends for any reason other than its length.
        """
        params = SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
        ids: list[int] = []
        began = time.perf_counter()
        ttft = 0.0
        [asked] = await self.engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
        async with asked as stream:
            async for output in stream:
                ttft = ttft or time.perf_counter() - began
                ids += output.token_ids
                if output.finished:
                    assert output.finish_reason == "length", output.error
                    assert output.usage is not None
                    return Answer(tuple(ids), ttft, output.usage.kv)
        raise AssertionError("a stream ended without a last output")

    async def leave_chats_below(self, *, settled: bool) -> None:
        """Compute all chats, and forget their blocks in every tier above Redis.

        settled: first wait until Redis has all blocks. Pass False where that never happens.
        """
        for number in range(CHATS):
            await self.ask(chat(number), 1)
        if settled:
            await self.until(self.is_settled)
        self.forget()

    def is_settled(self) -> bool:
        """Return whether every block to be stored has been written to Redis."""
        stats = self.engine.stats()
        return stats.blocks.unstored == 0 and stats.tiers.store is not None and stats.tiers.store.pending_writes == 0

    def forget(self) -> None:
        """Drop the unused blocks on the device and in host memory."""
        self.scheduler.blocks.pool.forget_free()
        if (tiers := self.scheduler.connector.tiers) is not None:
            tiers.store.clear_cpu()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition` holds. Raise AssertionError after `_PATIENCE` seconds."""
        deadline = time.monotonic() + _PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "the condition was not met in time"
            await asyncio.sleep(0.001)

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Run the streams while the context is open. On entry each of them has emitted output."""
        streams = Streams([[] for _ in range(STREAMS)])
        streams.tasks = [asyncio.create_task(self._stream(streams.times[number], number)) for number in range(STREAMS)]
        try:
            await self.until(lambda: all(len(own) > 20 for own in streams.times))
            yield streams
        finally:
            for task in streams.tasks:
                task.cancel()
            await asyncio.gather(*streams.tasks, return_exceptions=True)

    async def _stream(self, times: list[float], number: int) -> None:
        params = SamplingParams(temperature=0.0, max_tokens=FOREVER, ignore_eos=True)
        [asked] = await self.engine.generate(GenerateRequest(prompt_token_ids=[500 + number, 7, 8, 9], params=params))
        async with asked as stream:
            async for output in stream:
                times.append(time.perf_counter())
                assert output.finish_reason is None, f"a stream ended: {output.error}"


Strike = Callable[[Scene, int, "asyncio.Task[Answer]"], Awaitable[None]]
"""Fault that strikes while a chat returns: called with the scene, the chat's number and the task of its answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of all returning chats, and the streams' gaps.

    worst_ttft, p99_gap: seconds.
    restored: prompt tokens that were restored instead of computed.
    """

    answers: tuple[tuple[int, ...], ...]
    worst_ttft: float
    p99_gap: float
    restored: int


async def bring_chats_back(scene: Scene, strike: Strike) -> Outcome:
    """Ask all chats again, one after the other, alongside the streams. Call `strike` during each."""
    answers: list[Answer] = []
    async with scene.streams() as streams:
        begin = time.perf_counter()
        for number in range(CHATS):
            task = asyncio.create_task(scene.ask(chat(number)))
            await strike(scene, number, task)
            answers.append(await task)
        p99 = streams.gap(begin, time.perf_counter(), 99)
    return Outcome(
        tuple(answer.token_ids for answer in answers),
        max(answer.ttft for answer in answers),
        p99,
        sum(answer.kv.cached for answer in answers),
    )
