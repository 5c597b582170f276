"""Requests to replicas, and what the tests read of their answers."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from app.host.backend import Backend, GenerationStream
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput, TokenLogprobs, joined
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from engine.loop.stats import ReplicaState

SECONDS = 60.0
MAX_TOKENS = 150
GREEDY = SamplingParams(temperature=0.0, max_tokens=MAX_TOKENS, ignore_eos=True)
TIDE = '{"type": "array", "items": {"enum": ["spring tide", "neap tide"]}, "minItems": 30, "maxItems": 40}'
KINDS = {
    "greedy": (GREEDY, 1),
    "seeded": (replace(GREEDY, temperature=0.9, seed=7), 1),
    "penalties": (replace(GREEDY, frequency_penalty=0.7, presence_penalty=0.2), 1),
    "probabilities": (replace(GREEDY, logprobs=2), 1),
    "schema": (replace(GREEDY, ignore_eos=False, form=StructuredOutput("json", TIDE)), 1),
    "several": (replace(GREEDY, temperature=0.9, seed=9), 3),
}


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
    return [
        Reading(stream)
        for stream in await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params, num_answers=count))
    ]


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


def signalled(number: int) -> Callable[[ReplicaState], None]:
    """Return a strike that sends signal `number` to a replica's process."""

    def strike(state: ReplicaState) -> None:
        assert state.pid is not None
        os.kill(state.pid, number)

    return strike


async def readings_of_all_kinds(engine: Backend, salt: int, max_tokens: int) -> list[list[Reading]]:
    """Begin answers of all kinds."""
    return [
        await reading(engine, prompt_of(150, salt + at), replace(params, max_tokens=max_tokens), count)
        for at, (params, count) in enumerate(KINDS.values())
    ]


async def begun_of_all_kinds(engine: RemoteEngine, salt: int, max_tokens: int = MAX_TOKENS) -> list[list[Reading]]:
    """Begin answers of all kinds, and wait until each has a token."""
    begun = await readings_of_all_kinds(engine, salt, max_tokens)
    for readers in begun:
        for reader in readers:
            await reader.begun.wait()
    return begun


async def answers_through(
    engine: RemoteEngine, strike: Callable[[ReplicaState], None], salt: int, max_tokens: int = MAX_TOKENS
) -> tuple[list[list[Told]], ReplicaState]:
    """Generate answers of all kinds, and strike the busiest replica once all have begun.

    Returns the answers of each kind, and the replica's state when it was struck.
    """
    await until_states(engine, *("ok" for _ in engine.stats().replicas))
    begun = await begun_of_all_kinds(engine, salt, max_tokens)
    hit = max(engine.stats().replicas, key=lambda each: each.answers)
    assert hit.answers
    strike(hit)
    return [[told(await reader.whole()) for reader in readers] for readers in begun], hit


async def answers_alone(engine: AsyncLLMEngine, salt: int, max_tokens: int = MAX_TOKENS) -> list[list[Told]]:
    """Return the answers of all kinds by one engine in this process."""
    begun = await readings_of_all_kinds(engine, salt, max_tokens)
    return [[told(await reader.whole()) for reader in readers] for readers in begun]
