"""Bytes and steps of hand-overs between a replica for prompts and a replica for answers."""

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from cache_tiers.config import TierConfig
from cache_tiers.redis.block_client import REDIS
from engine.config import EngineConfig
from engine.errors import EngineError
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.generate_request import GenerateRequest
from engine.role import Role
from engine.sampling_params import SamplingParams
from engine.stats import EngineStats

ROLES: Final[tuple[Role, Role]] = ("prefill", "decode")
LENGTHS: Final = (100, 500, 1000)
"""Tokens of the prompts."""

TOKENS: Final = 32
CPU_MEMORY: Final = 64 << 20
BEAT_LIMIT_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class HandOver:
    """Hand-over of one answer.

    block_bytes: bytes of the blocks of the prompt. stored_bytes, loaded_bytes: bytes that the first replica sent to
        Redis for it, and that the second one fetched.
    prefill_steps, decode_steps: steps of each replica. decode_rows: rows of the prompt that the second one computed.
    """

    prompt: int
    block_bytes: int
    stored_bytes: int
    loaded_bytes: int
    prefill_steps: int
    decode_steps: int
    decode_rows: int


async def hand_overs(config: EngineConfig) -> list[HandOver]:
    """Measure a hand-over for each of `LENGTHS`, through a Redis of its own."""
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="ebb-hand-over-")))
        tiers = TierConfig(CPU_MEMORY, "auto", 1 << 30, folder)
        whole = replace(config, tiers=tiers, kv_memory=2 * config.kv_memory)
        engine = await asyncio.to_thread(build_fleet, whole, len(ROLES), lambda _: None, roles=ROLES)
        await engine.start()
        try:
            return [await _hand_over(engine, length, config.block_size) for length in LENGTHS]
        finally:
            await engine.stop(0.0)


async def _hand_over(engine: RemoteEngine, length: int, block_size: int) -> HandOver:
    before = await _beats(engine)
    params = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True)
    # No prompt begins with the tokens of another one.
    prompt = [1000 + (length + at * 17) % 20000 for at in range(length)]
    [stream] = await engine.generate(GenerateRequest(prompt, params))
    async for _ in stream:
        pass
    after = await _beats(engine)
    steps = [new.step_seconds.count - old.step_seconds.count for new, old in zip(after, before, strict=True)]
    block = after[0].block_nbytes
    return HandOver(
        length,
        -(-length // block_size) * block,
        block * (_stored(after[0]) - _stored(before[0])),
        block * (_loaded(after[1]) - _loaded(before[1])),
        steps[0],
        steps[1],
        after[1].prefilled_tokens - before[1].prefilled_tokens,
    )


async def _beats(engine: RemoteEngine) -> Sequence[EngineStats]:
    """Return newer statistics of each replica than those of the last two beats. Raise EngineError."""
    for _ in range(2):
        former = engine.replica_stats
        async with asyncio.timeout(BEAT_LIMIT_SECONDS):
            # Beats have no event to wait for.
            while any(new is old for new, old in zip(engine.replica_stats, former, strict=True)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    if len(engine.replica_stats) != len(ROLES):
        raise EngineError("a replica was lost during the measurement")
    return engine.replica_stats


def _stored(stats: EngineStats) -> int:
    return stats.tiers.lower[REDIS.id].stored_blocks if stats.tiers is not None else 0


def _loaded(stats: EngineStats) -> int:
    return stats.tiers.lower[REDIS.id].loaded_blocks if stats.tiers is not None else 0
