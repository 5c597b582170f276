"""The engine without HTTP and the worker without the engine: the references for a server's speed."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.native_step import Arm, Load
from bench.peers.plan import PeersPlan
from bench.peers.prompts import PromptMaker
from bench.stats import median
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine

_BLOCK = 64
_STEPS = 15
_DRAIN_SECONDS = 5.0


class InProcess:
    """An engine and a separate worker, each with its own weights and KV. Created by `in_process`."""

    def __init__(self, engine: AsyncLLMEngine, worker: Arm, plan: PeersPlan, make: PromptMaker) -> None:
        self._engine = engine
        self._worker = worker
        self._plan = plan
        self._make = make

    async def engine_rate(self, streams: int, seed: str) -> float:
        """Measure the engine's tokens per second from the first token of any stream to the last, as over HTTP."""
        plan = self._plan
        prompts = [self._make.words(plan.decode_prompt, f"{seed}/{stream}") for stream in range(streams)]
        times = await asyncio.gather(*(self._generate(prompt) for prompt in prompts))
        began, ended = min(first for first, _ in times), max(last for _, last in times)
        return streams * (plan.decode_tokens - 1) / (ended - began)

    def worker_rate(self, streams: int) -> float:
        """Measure the tokens per second of bare steps, with contexts that reach halfway through the answers."""
        context = self._plan.decode_prompt + self._plan.decode_tokens // 2
        return streams / self._step_seconds(Load("decode", streams, context, 1))

    def worker_prompt_seconds(self, tokens: int) -> float:
        """Measure one step that computes a whole new prompt, in seconds."""
        return self._step_seconds(Load("prompt", 1, 0, tokens))

    async def _generate(self, prompt: Sequence[int]) -> tuple[float, float]:
        """Return the times of the first and the last token."""
        params = SamplingParams(temperature=0.0, max_tokens=self._plan.decode_tokens, ignore_eos=True)
        first = last = 0.0
        [stream] = await self._engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
        async for _ in stream:
            last = time.perf_counter()
            first = first or last
        return first, last

    def _step_seconds(self, load: Load) -> float:
        return median([self._worker.step(load) for _ in range(_STEPS)]) / 1e3


@asynccontextmanager
async def in_process(model: Path, cache_dir: Path, plan: PeersPlan, make: PromptMaker) -> AsyncIterator[InProcess]:
    """Load and warm up an engine and a worker."""
    streams, longest = max(plan.decode_streams), max(tokens for tokens, _ in plan.ttft)
    config = EngineConfig(
        model=ModelConfig(path=model, name="bench"),
        cache=CacheConfig(tiers=None, secret=b"bench", kv_memory=plan.kv_bytes(4 * plan.longest)),
        device=DeviceConfig(cache_dir=cache_dir, cpu_kernels="auto", packed_size=0),
    )
    engine = build_engine(config, lambda _: None)
    blocks = max(streams * -(-(plan.decode_prompt + plan.decode_tokens) // _BLOCK), longest // _BLOCK + 1)
    worker = Arm(model, "auto", cache_dir, num_blocks=blocks)
    await engine.start()
    try:
        found = InProcess(engine, worker, plan, make)
        await found.engine_rate(1, "warm-up")
        yield found
    finally:
        await engine.stop(_DRAIN_SECONDS)
