"""`python -m bench.growing_memory`: what it costs that memory becomes resident with its use.

Each round starts the engine twice: once as it is, and once with all memory of both pools resident before the first
request. Both compute the same prompts and answers, and restore them from CPU memory into device blocks that were never
used. The order alternates, and the figure is the median over the rounds of the ratio of times.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from app.config.settings import load_settings
from bench.report import RESULTS, Target, write_results
from cache_tiers.config import TierConfig
from cache_tiers.cpu.growing_memory import GrowingMemory
from cache_tiers.cpu_store.lmcache_store import LMCacheStore
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SpeculationConfig
from engine.executor.uniproc import UniProcExecutor
from engine.llm import LLM
from models.download.resolve import find_model

MIB: Final = 1 << 20
PROMPT: Final = 1000
ANSWER: Final = 64
CHATS: Final = 4
MOST: Final = 1.05
"""Largest ratio of the times."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of one engine.

    prompts: of CHATS prompts, each for one token.
    answers: of CHATS answers at once, after their prompts.
    restores: of the same prompts, from CPU memory.
    """

    prompts: float
    answers: float
    restores: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write the table. Return 1 if a ratio is above its bound."""
    parser = argparse.ArgumentParser(prog="python -m bench.growing_memory", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    rounds = [measured_round(number) for number in range(arguments.rounds)]
    targets = [target(name, rounds) for name in ("prompts", "answers", "restores")]
    text = table(targets, len(rounds))
    content = [{"growing": asdict(growing), "resident": asdict(resident)} for growing, resident in rounds]
    write_results(arguments.out, "growing_memory", content, text)
    print(text)
    return 0 if all(each.met for each in targets) else 1


def target(name: str, rounds: Sequence[tuple[Times, Times]]) -> Target:
    """Return the ratio of one kind of times, and its bound."""
    ratios = [getattr(growing, name) / getattr(resident, name) for growing, resident in rounds]
    return Target(
        f"{name}: time with memory that grows, over that with memory that is there", median(ratios), MOST, False
    )


def table(targets: Sequence[Target], num_rounds: int) -> str:
    """Render the ratios in Markdown."""
    rows = [f"| {each.claim} | {each.value:.3f} | {each.bound} |" for each in targets]
    return "\n".join(
        [f"Medians of {num_rounds} rounds.", "", "| times | ratio | at most |", "| --- | ---: | ---: |", *rows, ""]
    )


def measured_round(number: int) -> tuple[Times, Times]:
    """Return the times with memory that grows, and with memory that is resident."""
    if number % 2:
        resident = measured(resident=True)
        return measured(resident=False), resident
    return measured(resident=False), measured(resident=True)


def measured(*, resident: bool) -> Times:
    """Start an engine, and measure it once it has run a short prompt."""
    with tempfile.TemporaryDirectory(prefix="ebb-memory-") as folder, LLM(config(Path(folder))) as llm:
        llm.generate([prompt(CHATS)[:64]], SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True))
        for memory in memories(llm):
            if resident:
                memory.use(memory.view.nbytes)
            memory.settle()
        return times(llm)


def times(llm: LLM) -> Times:
    """Compute, answer and restore the same prompts."""
    prompts = [prompt(number) for number in range(CHATS)]
    computed = seconds(llm, prompts, 1)
    answered = seconds(llm, [each[:64] for each in prompts], ANSWER)
    llm.engine.core.scheduler.blocks.pool.forget_free()
    return Times(computed, answered, seconds(llm, prompts, 1))


def seconds(llm: LLM, prompts: Sequence[Sequence[int]], count: int) -> float:
    """Return how long the answers of `count` tokens take."""
    began = time.perf_counter()
    llm.generate(prompts, SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True))
    return time.perf_counter() - began


def prompt(number: int) -> list[int]:
    """Build a prompt that shares no prefix with another one."""
    return [1000 + (number * 7919 + at * 104729) % 20000 for at in range(PROMPT)]


def memories(llm: LLM) -> list[GrowingMemory]:
    """Return the memory of the device pool and of the CPU tier."""
    executor, store = llm.engine.core.executor, llm.tiers.store
    assert isinstance(executor, UniProcExecutor)
    assert isinstance(store, LMCacheStore)
    cache = executor._worker._cache
    assert cache is not None
    found = [cache._memory, store._host_memory._growing]
    return [each for each in found if each is not None]


def config(state_dir: Path) -> EngineConfig:
    """Configure an engine with a device pool of three windows and a CPU tier of six, without Redis."""
    settings = load_settings({})
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        raise SystemExit(f"{settings.model} is not on this machine")
    tiers = TierConfig(1 << 30, "off", 0, state_dir)
    return EngineConfig(
        model=ModelConfig(path=folder, name=settings.model),
        cache=CacheConfig(tiers=tiers, secret=b"bench", kv_memory=512 * MIB),
        device=DeviceConfig(cache_dir=settings.cache_dir),
        speculation=SpeculationConfig(prompt_lookup=False),
    )


if __name__ == "__main__":
    raise SystemExit(main())
