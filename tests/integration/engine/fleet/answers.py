"""Requests to replicas, and what the tests read of their answers."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.host.backend import Backend, GenerationStream
from engine.fleet.remote_engine import RemoteEngine
from engine.generate_request import GenerateRequest
from engine.outputs import RequestOutput, TokenLogprobs, joined
from engine.sampling_params import SamplingParams
from engine.stats import ReplicaState

SECONDS = 60.0


@dataclass(frozen=True)
class Told:
    """An answer as a client sees it, whatever computed it."""

    token_ids: tuple[int, ...]
    text: str
    finish_reason: str | None
    logprobs: tuple[TokenLogprobs, ...]


def told(output: RequestOutput) -> Told:
    """Return what a client sees of a whole answer."""
    return Told(tuple(output.token_ids), output.text, output.finish_reason, tuple(output.logprobs))


@dataclass
class Reading:
    """An answer that a task reads.

    begun: set with the first output.
    """

    stream: GenerationStream
    outputs: list[RequestOutput] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._task = asyncio.create_task(self._read())

    async def whole(self) -> RequestOutput:
        """Wait for the end of the answer, and return all of it."""
        await self._task
        return joined(self.outputs)

    async def _read(self) -> None:
        async with asyncio.timeout(SECONDS):
            async for output in self.stream:
                self.outputs.append(output)
                self.begun.set()


def prompt_of(length: int, salt: int = 0) -> list[int]:
    """Return the ids of a prompt that shares no block with that of another salt."""
    return [1000 + (salt * 7919 + at * 17) % 20000 for at in range(length)]


async def reading(engine: Backend, prompt: Sequence[int], params: SamplingParams, count: int = 1) -> list[Reading]:
    """Begin `count` answers to a prompt, and read them on tasks."""
    return [Reading(stream) for stream in await engine.generate(GenerateRequest(prompt, params, num_answers=count))]


async def answers_of(
    engine: Backend, prompt: Sequence[int], params: SamplingParams, count: int = 1
) -> list[RequestOutput]:
    """Generate `count` answers to a prompt and return them whole."""
    return [await each.whole() for each in await reading(engine, prompt, params, count)]


async def until_states(engine: RemoteEngine, *states: str) -> tuple[ReplicaState, ...]:
    """Wait until the replicas have these states, in any order, and return them."""
    async with asyncio.timeout(SECONDS):
        # A state has no event that a test can wait for.
        while sorted(each.state for each in engine.stats().replicas) != sorted(states):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return engine.stats().replicas
