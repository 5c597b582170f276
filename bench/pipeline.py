"""Bubble of a pipeline: the part of the time in which its stages wait.

    python -m bench.pipeline [--model smollm2-135m-instruct] [--stages 2] [--rounds 5] [--out bench/results]

An engine in one process and a pipeline answer the same prompts, with several numbers of streams. Every answer of the
pipeline must equal that of the one process. A stage is busy from the moment at which it has the inputs of a pass until
the pass has ended. The bubble is 1 minus the mean share of busy time, while all streams decode. A single stream cannot
fill a pipeline: the stages then compute one after another. Prints a table, and writes pipeline.json and pipeline.md.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from bench.stats import median
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from models.download.resolve import resolve_model

STREAMS: Final = (1, 4, 8, 32)
"""Numbers of streams that are measured by default."""
PROMPT: Final = 100
TOKENS: Final = 120
BEGIN: Final = 2
"""Tokens of every stream before the measurement begins, so that all of them decode."""
MOST_BUBBLE: Final = 0.15
"""Target with at least `LEAST_STREAMS` streams and two stages."""
LEAST_STREAMS: Final = 8


@dataclass(frozen=True, slots=True)
class Decoding:
    """Time in which all streams of a round decode.

    rate: tokens per second.
    busy: seconds of forward passes of each stage; empty in one process.
    answers: token ids of all streams.
    """

    rate: float
    seconds: float
    busy: tuple[float, ...]
    answers: tuple[tuple[int, ...], ...]

    @property
    def bubble(self) -> float:
        """Part of the time in which a stage waits, as the mean of all stages."""
        return 1 - sum(self.busy) / (len(self.busy) * self.seconds)


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of all rounds.

    busy: share of the time in which each stage is busy.
    speed: rate over that of one process.
    """

    streams: int
    bubble: float
    busy: tuple[float, ...]
    speed: float
    differing_answers: int


async def decode(engine: AsyncLLMEngine, streams: int, seed: int) -> Decoding:
    """Answer `streams` prompts at once."""
    counts, told = [0] * streams, [list[int]() for _ in range(streams)]
    marks: list[tuple[float, int, tuple[float, ...]]] = []

    def mark() -> None:
        workers = engine.stats().workers
        marks.append((time.perf_counter(), sum(counts), workers.busy_seconds if workers is not None else ()))

    async def read(number: int) -> None:
        prompt = [100 + (seed * 37 + number * 131 + at * 17) % 150 for at in range(PROMPT)]
        params = SamplingParams(seed=number, max_tokens=TOKENS, ignore_eos=True)
        [stream] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
        async with stream:
            async for output in stream:
                told[number] += output.token_ids
                counts[number] = len(told[number])
                is_begun, is_ended = min(counts) >= BEGIN, max(counts) >= TOKENS
                if (is_begun and not marks) or (is_ended and len(marks) == 1):
                    mark()

    await asyncio.gather(*(read(number) for number in range(streams)))
    (began, had, before), (ended, has, after) = marks
    busy = tuple(late - early for early, late in zip(before, after, strict=True))
    seconds = ended - began
    return Decoding((has - had) / seconds, seconds, busy, tuple(map(tuple, told)))


async def measure(config: EngineConfig, counts: Sequence[int], rounds: int) -> dict[int, list[Decoding]]:
    """Answer with one engine, after a warm-up."""
    engine = build_engine(config, lambda text: print(f"  {text}", flush=True))
    await engine.start()
    try:
        await decode(engine, max(counts), -1)
        return {streams: [await decode(engine, streams, seed) for seed in range(rounds)] for streams in counts}
    finally:
        await engine.stop(1.0)


def compare(alone: dict[int, list[Decoding]], pipeline: dict[int, list[Decoding]]) -> list[Row]:
    """Compare a pipeline with one process."""
    rows = []
    for streams, rounds in pipeline.items():
        shares = [[busy / each.seconds for busy in each.busy] for each in rounds]
        pairs = list(zip(rounds, alone[streams], strict=True))
        differing = sum(a != b for ours, one in pairs for a, b in zip(ours.answers, one.answers, strict=True))
        rows.append(
            Row(
                streams,
                median([each.bubble for each in rounds]),
                tuple(median(list(stage)) for stage in zip(*shares, strict=True)),
                median([ours.rate for ours in rounds]) / median([one.rate for one in alone[streams]]),
                differing,
            )
        )
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table in Markdown."""
    lines = ["| streams | bubble | busy stages | rate over one process | differing answers |", "| --- " * 5 + "|"]
    for row in rows:
        busy = ", ".join(f"{share:.0%}" for share in row.busy)
        lines.append(f"| {row.streams} | {row.bubble:.0%} | {busy} | {row.speed:.2f} | {row.differing_answers} |")
    return "\n".join(lines)


def is_met(rows: Sequence[Row]) -> bool:
    """Return whether the bubble is small enough wherever there are enough streams, and all answers are the same."""
    enough = [row for row in rows if row.streams >= LEAST_STREAMS]
    return all(row.bubble <= MOST_BUBBLE for row in enough) and not any(row.differing_answers for row in rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline", description=__doc__)
    parser.add_argument("--model", default="smollm2-135m-instruct", help="model to divide")
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--streams", type=int, nargs="+", default=STREAMS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    cache_dir = load_settings({}).cache_dir
    folder = resolve_model(arguments.model, cache_dir, print)
    alone = EngineConfig(
        model=ModelConfig(path=folder, name=arguments.model),
        cache=CacheConfig(tiers=None, secret=b"bench", kv_memory=1 << 28),
        device=DeviceConfig(cache_dir=cache_dir),
    )
    alone = alone.with_fields(prompt_lookup=False, prefix_cache=False)
    one = asyncio.run(measure(alone, arguments.streams, arguments.rounds))
    divided = alone.with_fields(pipeline_parallel_size=arguments.stages)
    staged = asyncio.run(measure(divided, arguments.streams, arguments.rounds))
    rows = compare(one, staged)
    print(table(rows))
    met = is_met(rows)
    result = {
        "measured_on": date.today().isoformat(),
        "machine": asdict(describe_machine()),
        "model": folder.name,
        "stages": arguments.stages,
        "rows": [asdict(row) for row in rows],
        "met": met,
    }
    head = f"# Pipeline\n\n{folder.name} in {arguments.stages} stages, by `make bench-pipeline`. "
    target = f"Target: a bubble of at most {MOST_BUBBLE:.0%} with {LEAST_STREAMS} streams or more.\n\n"
    write_results(arguments.out, "pipeline", result, head + target + table(rows) + "\n")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
