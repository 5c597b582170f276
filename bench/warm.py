"""`python -m bench.warm`: time to the first token of a cold chat whose KV was loaded while its user typed.

Before each turn of a chat, the chat's KV is moved to where the arm should find it: on the device, in CPU memory, or in
Redis alone. In the fourth arm, the KV is in Redis and the chat is warmed while the user types. The arms take turns
within each chat, so that all of them meet the same lengths and the same conditions. Time is measured in this process,
from the question to the first token, without HTTP. Warming takes the path of `POST /api/conversations/{id}/warm`.

Hot means that the KV is on the device, and a warmed chat is compared with that. CPU memory is in the table to show the
cost of the last part of the path.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from app.config.settings import load_settings
from bench.machine import describe_machine
from bench.report import RESULTS, Target, write_results
from bench.stats import Spread, share, spread
from cache_tiers.config import TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import Usage
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.offload.connector import OffloadConnector
from engine.wiring.build import build_engine
from models.download.resolve import resolve_model

Arm = Literal["device", "CPU memory", "Redis", "Redis, warmed"]

ARMS: Final[tuple[Arm, ...]] = ("device", "CPU memory", "Redis", "Redis, warmed")
HISTORY_TOKENS: Final = 1500
QUESTION_TOKENS: Final = 32
ANSWER_TOKENS: Final = 16
CHATS: Final = 16
TURNS: Final = 16
TYPING_SECONDS: Final = 1.5
MAX_OVER_HOT: Final = 1.10
_MIB: Final = 1 << 20
_TOKENS: Final = range(1000, 20000)


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer. device, cpu, redis and computed count the prompt's tokens by the origin of their KV."""

    arm: Arm
    ttft_ms: float
    prompt_tokens: int
    device: int
    cpu: int
    redis: int
    computed: int

    @property
    def is_as_meant(self) -> bool:
        """Whether the history was in the intended place. The Redis arm may also recompute it."""
        match self.arm:
            case "device" | "Redis, warmed":
                return self.device > 0 and not self.cpu + self.redis
            case "CPU memory":
                return self.cpu > 0 and not self.device + self.redis
            case "Redis":
                return not self.device + self.cpu


@dataclass(frozen=True, slots=True)
class Row:
    """The turns of one arm. Token counts are means.

    as_meant: share of the turns that found their history in the intended place.
    """

    arm: Arm
    ttft_ms: Spread
    prompt_tokens: float
    device: float
    cpu: float
    redis: float
    computed: float
    as_meant: float


def rows_of(turns: Sequence[Turn]) -> list[Row]:
    """Aggregate the turns of each arm, in the order of the arms."""
    return [_row(arm, [turn for turn in turns if turn.arm == arm]) for arm in ARMS]


def _row(arm: Arm, turns: Sequence[Turn]) -> Row:
    def mean(values: Sequence[int]) -> float:
        return sum(values) / len(values)

    return Row(
        arm,
        spread([turn.ttft_ms for turn in turns]),
        mean([turn.prompt_tokens for turn in turns]),
        mean([turn.device for turn in turns]),
        mean([turn.cpu for turn in turns]),
        mean([turn.redis for turn in turns]),
        mean([turn.computed for turn in turns]),
        share([turn.is_as_meant for turn in turns]),
    )


def targets_of(rows: Sequence[Row]) -> list[Target]:
    """List the targets of the run."""
    device, _, redis, warmed = rows
    over_hot = warmed.ttft_ms.p95 / device.ttft_ms.p95
    over_cold = warmed.ttft_ms.p95 / redis.ttft_ms.p95
    as_meant = min(row.as_meant for row in rows)
    return [
        Target("p95 TTFT of a warmed chat over one on the device", over_hot, MAX_OVER_HOT, at_least=False),
        Target("p95 TTFT of a warmed chat over a cold one", over_cold, 1, at_least=False),
        Target("turns that found their history in the intended tier, share", as_meant, 1, at_least=True),
    ]


class Chats:
    """Chats on one engine, one turn at a time."""

    def __init__(self, engine: AsyncLLMEngine, typing_seconds: float) -> None:
        self._engine = engine
        self._typing_seconds = typing_seconds
        self._salt = 0

    async def play(self, turns: int, first_arm: int) -> list[Turn]:
        """Play a new chat: a long first turn, then `turns` turns that continue it, each with the next arm."""
        tenant = f"person {self._salt}"
        ids, _, _ = await self._ask(tenant, [], HISTORY_TOKENS)
        found = []
        for number in range(turns):
            arm = ARMS[(first_arm + number) % len(ARMS)]
            await self._put(arm, tenant, ids)
            ids, ttft_ms, usage = await self._ask(tenant, ids, QUESTION_TOKENS)
            kv = usage.kv
            found.append(
                Turn(
                    arm,
                    ttft_ms,
                    usage.prompt_tokens,
                    kv.reused["device"],
                    kv.reused["cpu"],
                    kv.reused["redis"],
                    kv.computed,
                )
            )
        return found

    async def _put(self, arm: Arm, tenant: str, ids: Sequence[int]) -> None:
        """Move the chat's KV to where the arm should find it, and wait while the user types."""
        await self._settle()
        scheduler = self._engine._engine.core.scheduler
        assert isinstance(scheduler.connector, OffloadConnector)
        if arm != "device":
            scheduler.blocks.pool.forget_free()
        if arm.startswith("Redis"):
            # A block that has arrived in Redis is held a moment longer.
            while not scheduler.connector.tiers.store.clear_cpu():  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        if arm == "Redis, warmed":
            begun = await self._engine.prefixes.warm(tenant, ids[:-1], tenant=tenant)
            assert begun, "no block was free to warm the chat"
        # All arms wait equally, because an idle machine may be slower than a busy one.
        await asyncio.sleep(self._typing_seconds)

    async def _ask(self, tenant: str, ids: Sequence[int], num_new: int) -> tuple[list[int], float, Usage]:
        """Return all ids including the answer's, the milliseconds to the first token, and the usage."""
        self._salt += 1
        asked = [*ids, *_prompt(num_new, self._salt)]
        params = SamplingParams(temperature=0.0, max_tokens=ANSWER_TOKENS, ignore_eos=True)
        began = time.perf_counter()
        [stream] = await self._engine.generate(GenerateRequest(prompt_token_ids=asked, params=params, tenant=tenant))
        first: float | None = None
        async for output in stream:
            if first is None:
                first = time.perf_counter()
            asked += output.token_ids
            if output.finished:
                assert output.usage is not None
                return asked, (first - began) * 1e3, output.usage
        raise AssertionError("the stream ended without a last output")

    async def _settle(self) -> None:
        """Wait until no block moves between the tiers."""
        while True:
            stats = self._engine.stats()
            assert stats.tiers.store is not None
            if self._engine.is_idle and not (stats.blocks.unstored or stats.tiers.store.pending_writes):
                return
            await asyncio.sleep(0.01)


async def measure(config: EngineConfig, chats: int, turns: int, typing_seconds: float) -> list[Turn]:
    """Play all chats, one after another.

    A first chat, which is dropped, teaches the engine the costs of restoring and computing.
    """
    engine = await asyncio.to_thread(build_engine, config, lambda sentence: print(sentence, file=sys.stderr))
    await engine.start()
    try:
        played = Chats(engine, typing_seconds)
        await played.play(2 * len(ARMS), 0)
        found: list[Turn] = []
        for number in range(chats):
            found += await played.play(turns, number)
            print(f"{number + 1} of {chats} chats", file=sys.stderr, flush=True)
        return found
    finally:
        await engine.stop(5.0)


def engine_config(state: Path) -> EngineConfig:
    """Configure CPU memory and device memory for everything that is warmed within half a minute."""
    settings = load_settings({})
    return EngineConfig(
        model=ModelConfig(path=resolve_model(settings.model, settings.cache_dir, print), name=settings.model),
        cache=CacheConfig(
            tiers=TierConfig(2048 * _MIB, "auto", 2048 * _MIB, state), secret=b"of the benchmark", kv_memory=2048 * _MIB
        ),
        device=DeviceConfig(cache_dir=settings.cache_dir, packed_size=0),
    )


def table(rows: Sequence[Row], targets: Sequence[Target]) -> str:
    """Format the rows as Markdown."""
    lines = [
        "| history in | turns | TTFT median, ms | p95, ms | prompt | device | CPU | Redis | computed | as intended |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        ttft = row.ttft_ms
        lines.append(
            f"| {row.arm} | {ttft.count} | {ttft.median:.1f} | {ttft.p95:.1f} | {row.prompt_tokens:.0f} "
            f"| {row.device:.0f} | {row.cpu:.0f} | {row.redis:.0f} | {row.computed:.0f} | {row.as_meant:.0%} |"
        )
    lines += ["", "| claim | value | target | |", "| --- | ---: | ---: | --- |"]
    for target in targets:
        sign = "≥" if target.at_least else "≤"
        verdict = "met" if target.met else "missed"
        lines.append(f"| {target.claim} | {target.value:.3f} | {sign} {target.bound:g} | {verdict} |")
    return "\n".join(lines) + "\n"


def write(rows: Sequence[Row], targets: Sequence[Target], typing_seconds: float, out: Path) -> None:
    """Write warm.json and warm.md."""
    result = {
        "machine": asdict(describe_machine()),
        "history_tokens": HISTORY_TOKENS,
        "typing_seconds": typing_seconds,
        "rows": [asdict(row) for row in rows],
        "targets": [asdict(target) | {"met": target.met} for target in targets],
    }
    write_results(out, "warm", result, table(rows, targets))


def _prompt(length: int, salt: int) -> list[int]:
    """Make token ids that share no prefix with those of another salt."""
    return [_TOKENS[(salt * 7919 + at * 104729) % len(_TOKENS)] for at in range(length)]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.warm", description=__doc__)
    parser.add_argument("--chats", type=int, default=CHATS)
    parser.add_argument("--turns", type=int, default=TURNS, help="turns per chat, at least four")
    parser.add_argument("--typing", type=float, default=TYPING_SECONDS, help="seconds between opening and sending")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    if arguments.turns < len(ARMS):
        parser.error(f"--turns must be at least {len(ARMS)}, so that each arm is measured")
    with tempfile.TemporaryDirectory(prefix="ebb-warm-", ignore_cleanup_errors=True) as state:
        turns = asyncio.run(measure(engine_config(Path(state)), arguments.chats, arguments.turns, arguments.typing))
    rows = rows_of(turns)
    targets = targets_of(rows)
    write(rows, targets, arguments.typing, arguments.out)
    print(table(rows, targets), end="")
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    raise SystemExit(main())
