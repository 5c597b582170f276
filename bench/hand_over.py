"""Cost of handing answers over from a replica that computes prompts to one that decodes, for `bench.fleet_wire`."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from app.observability.percentiles import percentile
from cache_tiers.config import TierConfig
from cache_tiers.redis.backend import REDIS
from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.config import EngineConfig
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine

ANSWERS: Final = 24
TOKENS: Final = 24
LENGTHS: Final = (500, 1000, 1999)
"""Tokens of the prompts, in turn. Their last blocks are filled to different degrees."""

SETTLE_SECONDS: Final = 1.0
"""Time in which every replica sends its newest figures."""


@dataclass(frozen=True, slots=True)
class HandOverCost:
    """Result of one run.

    prompt_tokens: of all prompts. prefilled: those of them that each replica computed.
    moved_bytes: bytes that were loaded from Redis. block_bytes: bytes of all blocks of the prompts.
    pause_ms, pause_p99_ms: between the first and the second token. gap_ms: between two later ones.
    """

    answers: int
    prompt_tokens: int
    prefilled: tuple[int, ...]
    moved_bytes: int
    block_bytes: int
    pause_ms: float
    pause_p99_ms: float
    gap_ms: float

    @property
    def table(self) -> str:
        """Table in Markdown."""
        rows = [
            ("answers handed over", f"{self.answers}"),
            ("prompt tokens computed, prefill and decode replica", " and ".join(map(str, self.prefilled))),
            ("prompt tokens in all", f"{self.prompt_tokens}"),
            ("bytes moved over the bytes of the blocks", f"{self.moved_bytes / self.block_bytes:.3f}"),
            ("pause after the first token, p50 and p99", f"{self.pause_ms:.0f} and {self.pause_p99_ms:.0f} ms"),
            ("time between later tokens, p50", f"{self.gap_ms:.0f} ms"),
        ]
        return "\n".join(("| hand-over | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows)))


async def measure_hand_over(config: EngineConfig, folder: Path, report: Callable[[str], None]) -> HandOverCost:
    """Answer prompts one after the other with a replica for each role. `folder` is for a separate Redis."""
    tiers = TierConfig(64 << 20, "auto", 256 << 20, folder)
    whole = config.with_fields(tiers=tiers, kv_memory=2 * config.cache.kv_memory)
    engine = await asyncio.to_thread(build_fleet, whole, 2, report, roles=("prefill", "decode"))
    await engine.start()
    try:
        pauses, gaps, lengths = [], list[float](), [LENGTHS[number % len(LENGTHS)] for number in range(ANSWERS)]
        for number, length in enumerate(lengths):
            prompt = [100 + (number * 7919 + at * 17) % 400 for at in range(length)]
            params = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True)
            [stream] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
            first, *others = await _gaps(stream)
            pauses.append(first)
            gaps += others
        await asyncio.sleep(SETTLE_SECONDS)
        return _cost(engine, lengths, config.cache.block_size, pauses, gaps)
    finally:
        await engine.stop(0.0)


async def _gaps(stream: RequestStream) -> list[float]:
    times = []
    async with stream:
        async for output in stream:
            times += [time.perf_counter()] * bool(output.token_ids)
    return [1e3 * (late - early) for early, late in pairwise(times)]


def _cost(
    engine: RemoteEngine, lengths: list[int], block_size: int, pauses: list[float], gaps: list[float]
) -> HandOverCost:
    stats = engine.stats()
    assert stats.tiers.store is not None
    assert stats.routes is not None
    blocks = sum(-(-length // block_size) for length in lengths)
    return HandOverCost(
        stats.routes.hand_overs,
        sum(lengths),
        tuple(each.prefilled_tokens for each in stats.replicas),
        stats.tiers.store.lower[REDIS.id].loaded_blocks * stats.blocks.nbytes,
        blocks * stats.blocks.nbytes,
        percentile(pauses, 50),
        percentile(pauses, 99),
        percentile(gaps, 50),
    )
