"""`python -m bench.tenants`: whether time to first token reveals to an attacker which prompts a tenant has sent.

A victim sends some prompts. An attacker then sends each of them once, among as many new ones, and guesses from the time
to the first token alone. An attacker from another tenant must learn nothing. The victim itself, in the attacker's
place, must recognize everything, or else the measurement is blind. The victim's blocks are on the device, in CPU memory
or in Redis, in rotation.
"""

import argparse
import random
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count, cycle, islice, product
from pathlib import Path
from typing import Final

from app.config.settings import Settings, load_settings
from bench.cold import empty_cpu
from bench.long_prompt import prompt
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from bench.stats import median
from cache_tiers.config import TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import Usage
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from models.download.resolve import resolve_model

BLOCK: Final = 64
PROMPT_TOKENS: Final = 4 * BLOCK + 17
"""Length of every prompt. Different lengths would cause different times and hide the effect."""
ROUND: Final = 20
PROBES: Final = 2000
MAX_ACROSS: Final = 0.55
LEAST_INSIDE: Final = 0.95
VICTIM: Final = "victim"
ATTACKERS: Final = {"another tenant": "attacker", "the same tenant": VICTIM}
TIERS: Final = ("device", "cpu", "redis")
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Probe:
    """One request of an attacker.

    attacker: key of ATTACKERS.
    tier: tier of the victim's blocks.
    asked: whether the victim had sent the prompt.
    cached: number of cached tokens according to the receipt.
    """

    attacker: str
    tier: str
    asked: bool
    ttft_ms: float
    cached: int


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one attacker, for one tier or all.

    asked_ms, unasked_ms: median times for prompts that the victim had sent, and for new ones.
    cached: cached tokens per prompt that the victim had sent.
    auc: probability that a prompt the victim had sent is answered sooner than a new one.
    """

    attacker: str
    tier: str
    probes: int
    asked_ms: float
    unasked_ms: float
    cached: float
    auc: float

    @property
    def is_met(self) -> bool:
        """Whether the target is met. An AUC below one half reveals as much as one above."""
        if self.attacker == "another tenant":
            return max(self.auc, 1 - self.auc) <= MAX_ACROSS
        return self.auc >= LEAST_INSIDE


def auc(lower: Sequence[float], higher: Sequence[float]) -> float:
    """Return the probability that a value of `lower` is below one of `higher`, where ties count half.

    This is the area under the curve of a classifier by such a value (Mann and Whitney's U, scaled). Raise ValueError if
    either is empty.
    """
    if not lower or not higher:
        raise ValueError("a curve needs values of both kinds")
    ranked = sorted(higher)
    below_or_equal = sum(bisect_left(ranked, value) + bisect_right(ranked, value) for value in lower) / 2
    return 1 - below_or_equal / (len(lower) * len(higher))


def settle(llm: LLM) -> None:
    """Step the engine until no block moves between the tiers."""
    store = llm.tiers.store
    assert store is not None
    while llm.engine.core.next_poll_seconds() is not None or store.stats().pending_writes:
        llm.engine.step()


def ask(llm: LLM, token_ids: Sequence[int], tenant: str) -> Usage:
    """Generate one token on a quiet engine."""
    settle(llm)
    llm.engine.add_request(
        GenerateRequest(
            prompt_token_ids=token_ids,
            params=SamplingParams(temperature=0.0, max_tokens=1, ignore_eos=True),
            tenant=tenant,
        )
    )
    while True:
        for output in llm.engine.step():
            if output.usage is not None:
                return output.usage


def leave_only_in(llm: LLM, tier: str) -> None:
    """Drop the blocks of the tiers above `tier`."""
    settle(llm)
    store = llm.tiers.store
    assert store is not None
    if tier != "device":
        llm.engine.core.scheduler.blocks.pool.forget_free()
    if tier == "redis":
        empty_cpu(store)


def measure(llm: LLM, probes: int, seed: int) -> list[Probe]:
    """Make `probes` probes by each attacker, in rounds of one attacker and one tier each."""
    randomness, salts = random.Random(seed), count()
    found: list[Probe] = []
    for tier in TIERS:  # The engine learns the costs of restoring and computing here.
        probe_round(llm, VICTIM, tier, [prompt(PROMPT_TOKENS, next(salts)) for _ in range(ROUND)], randomness)
    rounds = islice(cycle(product(TIERS, ATTACKERS)), 2 * -(-probes // ROUND))
    for number, (tier, attacker) in enumerate(rounds, 1):
        prompts = [prompt(PROMPT_TOKENS, next(salts)) for _ in range(ROUND)]
        found += [
            Probe(attacker, tier, asked, usage.ttft_ms, usage.kv.cached)
            for asked, usage in probe_round(llm, ATTACKERS[attacker], tier, prompts, randomness)
        ]
        if number % 20 == 0:
            print(f"{len(found)} of {2 * probes} probes", flush=True)
    return found


def probe_round(
    llm: LLM, attacker: str, tier: str, prompts: Sequence[list[int]], randomness: random.Random
) -> list[tuple[bool, Usage]]:
    """Send half of the prompts as the victim, then all as the attacker.

    Return for each prompt whether the victim had sent it, and its usage.
    """
    half = len(prompts) // 2
    for token_ids in prompts[:half]:
        ask(llm, token_ids, VICTIM)
    leave_only_in(llm, tier)
    order = list(range(len(prompts)))
    randomness.shuffle(order)
    return [(at < half, ask(llm, prompts[at], attacker)) for at in order]


def row(found: Sequence[Probe], attacker: str, tiers: Sequence[str]) -> Row:
    """Aggregate the probes of an attacker in `tiers`.

    The attacker guesses that the prompts answered sooner had been sent before.
    """
    of = [each for each in found if each.attacker == attacker and each.tier in tiers]
    asked, unasked = [each for each in of if each.asked], [each for each in of if not each.asked]
    asked_ms, unasked_ms = [each.ttft_ms for each in asked], [each.ttft_ms for each in unasked]
    return Row(
        attacker,
        "/".join(tiers),
        len(of),
        median(asked_ms),
        median(unasked_ms),
        sum(each.cached for each in asked) / len(asked),
        auc(asked_ms, unasked_ms),
    )


def table(rows: Sequence[Row], totals: Sequence[Row]) -> str:
    """Format the rows as Markdown. The targets apply to the totals."""
    lines = [
        "| attacker | victim's KV in | probes | asked, ms | not asked, ms | asked: tokens from the cache | AUC | |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for each in (*rows, *totals):
        target = f"at most {MAX_ACROSS}" if each.attacker == "another tenant" else f"at least {LEAST_INSIDE}"
        verdict = f"{target}: {'met' if each.is_met else 'missed'}" if each in totals else ""
        lines.append(
            f"| {each.attacker} | {each.tier} | {each.probes} | {each.asked_ms:.1f} | {each.unasked_ms:.1f} "
            f"| {each.cached:.0f} of {PROMPT_TOKENS} | {each.auc:.3f} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def write(rows: Sequence[Row], totals: Sequence[Row], out: Path) -> None:
    """Write tenants.json and tenants.md."""
    result = {
        "machine": asdict(describe_machine()),
        "prompt_tokens": PROMPT_TOKENS,
        "rows": [asdict(each) for each in rows],
        "totals": [asdict(each) for each in totals],
    }
    write_results(out, "tenants", result, table(rows, totals))


def engine_config(settings: Settings, state: Path) -> EngineConfig:
    """Configure an engine whose tiers each have memory for several rounds."""
    return EngineConfig(
        model=ModelConfig(path=resolve_model(settings.model, settings.cache_dir, print), name=settings.model),
        cache=CacheConfig(
            tiers=TierConfig(1024 * _MIB, "auto", 1024 * _MIB, state), secret=b"of the benchmark", kv_memory=512 * _MIB
        ),
        device=DeviceConfig(cache_dir=settings.cache_dir),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.tenants", description=__doc__)
    parser.add_argument("--probes", type=int, default=PROBES, help="number of probes per attacker")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="ebb-tenants-") as state,
        LLM(engine_config(load_settings({}), Path(state))) as llm,
    ):
        found = measure(llm, arguments.probes, arguments.seed)
    rows = [row(found, attacker, [tier]) for attacker in ATTACKERS for tier in TIERS]
    totals = [row(found, attacker, TIERS) for attacker in ATTACKERS]
    write(rows, totals, arguments.out)
    print(table(rows, totals), end="")
    return 0 if all(each.is_met for each in totals) else 1


if __name__ == "__main__":
    raise SystemExit(main())
