"""`python -m bench.draft_model`: speed with a draft model whose guesses are right at a given rate.

Small models that were trained together are not at hand, so a large model of random weights is drafted by the default
model, which has about an eighth of its bytes. The draft model computes every guess. The guess is then replaced by
the token of a recorded run, or by another one: a guess is right with the rate of the row. The cost is that of a real
draft model, and the rate is known. One stream. The engines answer alternately in one process, and every answer is
compared with the recorded one.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.large_model import large_model
from bench.machine import describe_machine
from bench.report import RESULTS, show_results
from bench.report_tables import table
from bench.stats import median
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.request.scheduler_output import DraftWork
from engine.wiring.build import build_engine
from engine.worker import worker
from engine.worker.batch.input_batch import RequestState
from engine.worker.drafter import Drafter
from models.download.pull import pull_default

RATES: Final = {0.9: 2.2, 0.7: 1.5, 0.0: 0.97}
"""Rate of right guesses: the target of the ratio."""
PROMPTS: Final = ("The sea", "A short history of the bicycle", "How to bake bread", "Why is the sky blue?")
ROUNDS: Final = 3
_DRAIN_SECONDS: Final = 5.0

Texts = dict[tuple[int, ...], tuple[int, ...]]
"""Recorded answers by prompt."""


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one rate.

    pairs: tokens per second of each round, without drafts and with the draft model.
    same: whether all answers are equal.
    """

    rate: float
    pairs: Sequence[tuple[float, float]]
    num_drafted: int
    num_accepted: int
    same: bool

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round, in ascending order."""
        return sorted(drafted / plain for plain, drafted in self.pairs)

    @property
    def met(self) -> bool:
        """Whether the median ratio meets its target and all answers are equal."""
        return median(self.ratios) >= RATES[self.rate] and self.same


def guided_drafter(texts: Texts, rate: float) -> type[Drafter]:
    """Make a drafter that computes all guesses, and returns recorded tokens of which `rate` are right."""

    class GuidedDrafter(Drafter):
        def draft(
            self, to_draft: Mapping[str, int], state_of: Callable[[str], RequestState]
        ) -> tuple[dict[str, tuple[int, ...]], DraftWork]:
            drafts, work = super().draft(to_draft, state_of)
            guided = {name: _guided(texts, state_of(name), len(tokens), rate) for name, tokens in drafts.items()}
            for name, tokens in guided.items():
                # Count right guesses as read, as those of a real draft model are.
                self._readings[name].guessed = tokens[:-1]
            return guided, work

    return GuidedDrafter


def _guided(texts: Texts, state: RequestState, count: int, rate: float) -> tuple[int, ...]:
    known = tuple(state.token_ids)
    answer = texts.get(known[: state.prompt_len], ())
    first = len(known) - state.prompt_len
    told = (*answer[first : first + count], *(0 for _ in range(first + count - len(answer))))[:count]
    return tuple(
        token if random.Random(f"{known[0]} {first + at}").random() < rate else token ^ 1
        for at, token in enumerate(told)
    )


@dataclass(slots=True)
class Arm:
    """One engine. right: whether its answers were the recorded ones so far."""

    engine: AsyncLLMEngine
    right: bool = True

    async def rate(self, prompts: Sequence[Sequence[int]], tokens: int, texts: Texts) -> float:
        """Answer all prompts one after another, record or compare the answers, and return the tokens per second."""
        seconds = 0.0
        for number, prompt in enumerate(prompts):
            params = SamplingParams(temperature=1.0, seed=number, max_tokens=tokens, ignore_eos=True)
            answer: list[int] = []
            began = time.perf_counter()
            [stream] = await self.engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
            async for output in stream:
                answer += output.token_ids
            seconds += time.perf_counter() - began
            known = texts.setdefault(tuple(prompt), tuple(answer))
            self.right = self.right and known == tuple(answer)
        return len(prompts) * tokens / seconds


async def measure(model: Path, draft_model: Path, cache_dir: Path, tokens: int, rounds: int) -> list[Row]:
    """Measure all rates."""
    config = EngineConfig(
        model=ModelConfig(path=model, name="bench"),
        # No answer finds what an earlier one left.
        cache=CacheConfig(tiers=None, secret=b"bench", kv_memory=256 << 20, prefix_cache=False),
        device=DeviceConfig(cache_dir=cache_dir),
    )
    plain = Arm(build_engine(config.with_fields(prompt_lookup=False), lambda _: None))
    prompts = [plain.engine.tokenizer.encode(text, special=False) for text in PROMPTS]
    texts: Texts = {}
    rows: list[Row] = []
    await plain.engine.start()
    try:
        await plain.rate(prompts, tokens, texts)
        for rate in RATES:
            with patch.object(worker, "Drafter", guided_drafter(texts, rate)):
                drafted = Arm(build_engine(config.with_fields(draft_model=draft_model), lambda _: None))
            await drafted.engine.start()
            try:
                await drafted.rate(prompts, tokens, texts)
                pairs = []
                for number in range(rounds):
                    print(f"rate {rate}, round {number + 1} of {rounds}", file=sys.stderr, flush=True)
                    arms = (plain, drafted) if number % 2 else (drafted, plain)
                    found = {id(arm): await arm.rate(prompts, tokens, texts) for arm in arms}
                    pairs.append((found[id(plain)], found[id(drafted)]))
                stats = drafted.engine.stats().tokens
                rows.append(Row(rate, pairs, stats.drafted["model"], stats.accepted["model"], drafted.right))
            finally:
                await drafted.engine.stop(_DRAIN_SECONDS)
    finally:
        await plain.engine.stop(_DRAIN_SECONDS)
    return rows


def to_markdown(rows: Sequence[Row]) -> str:
    """Format the rows as Markdown."""
    head = ("right", "tok/s without", "with", "ratio", "rounds", "target", "", "drafted", "accepted", "same answers")
    cells = [
        (
            f"{row.rate:.0%}",
            *(f"{median(column):.1f}" for column in zip(*row.pairs, strict=True)),
            *(f"{median(row.ratios):.2f}", f"{row.ratios[0]:.2f} to {row.ratios[-1]:.2f}", f"{RATES[row.rate]:.2f}"),
            *("met" if row.met else "missed", str(row.num_drafted), str(row.num_accepted), "yes" if row.same else "no"),
        )
        for row in rows
    ]
    return f"{table(head, cells)}\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write draft_model.json and draft_model.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.draft_model", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--tokens", type=int, default=192, help="tokens of each answer")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    cache_dir = load_settings({}).cache_dir
    small = pull_default(cache_dir, print)
    model = large_model("llama-1.1b", small, cache_dir / "peers")
    rows = run_to_end(measure(model, small, cache_dir, arguments.tokens, arguments.rounds))
    result = {
        "machine": asdict(describe_machine()),
        "rounds": arguments.rounds,
        "rows": [asdict(row) | {"met": row.met} for row in rows],
    }
    show_results(arguments.out, "draft_model", result, to_markdown(rows))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
