"""`python -m bench.links`: time to the first token of a known prompt whose KV is in Redis behind a network.

Networks from slow to fast are simulated. Three engines answer in rotation: one that decides by itself, one that always
loads everything, and one that always computes everything. The first should never be slower than the better of the other
two.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.config.settings import Settings, load_settings
from bench.cold import empty_cpu
from bench.long_prompt import prompt
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from bench.slow_link import SlowLink
from bench.stats import median
from cache_tiers.config import TierConfig
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.server_binary import find_redis_server
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from engine.offload.connector import OffloadConnector
from engine.offload.prefill_cost import PrefillCost
from models.download.resolve import resolve_model

LATENCIES: Final = (0.005, 0.05, 0.5)
RATES: Final = (1e6, 10e6, 100e6, 1000e6)
PROMPT_BLOCKS: Final = 16
BLOCK: Final = 64
PROMPTS: Final = 3
WARM_UPS: Final = 20
ROUNDS: Final = 9
HOPELESS: Final = 8.0
HOPELESS_ROUNDS: Final = 3
ARMS: Final = ("decides", "loads", "computes")
_MIB: Final = 1 << 20


class NobodyKnows(PrefillCost):
    """Prefill cost that is never known, so the engine always loads."""

    def seconds(self, start: int, stop: int) -> None:  # noqa: ARG002
        """Return None: the cost is unknown."""
        return


@dataclass(frozen=True, slots=True)
class Point:
    """Milliseconds to the first token by arm, each the median of its rounds."""

    latency_ms: float
    mb_per_second: float
    ttft_ms: dict[str, float]

    @property
    def better_ms(self) -> float:
        """Time of the better of the two arms that do not decide."""
        return min(self.ttft_ms["loads"], self.ttft_ms["computes"])

    @property
    def allowed_ms(self) -> float:
        """Target for the arm that decides."""
        return 1.05 * self.better_ms + 10

    @property
    def met(self) -> bool:
        """Whether the arm that decides meets the target."""
        return self.ttft_ms["decides"] <= self.allowed_ms


@contextmanager
def three_engines(settings: Settings, redis: str, root: Path) -> Iterator[dict[str, LLM]]:
    """Yield the engines by arm. They differ only in what they know of costs, and the last one has no tiers."""
    with ExitStack() as stack:
        arms = {}
        for arm in ARMS:
            state = root / arm
            state.mkdir()
            tiers = None if arm == "computes" else TierConfig(512 * _MIB, redis, 0, state)
            config = EngineConfig(
                model=ModelConfig(path=resolve_model(settings.model, settings.cache_dir, print), name=settings.model),
                cache=CacheConfig(
                    tiers=tiers, secret=b"of the benchmark", kv_memory=256 * _MIB, prefix_cache=tiers is not None
                ),
                device=DeviceConfig(cache_dir=settings.cache_dir),
            )
            arms[arm] = stack.enter_context(LLM(config))
        connector = arms["loads"].engine.core.scheduler.connector
        assert isinstance(connector, OffloadConnector)
        connector.prefill = NobodyKnows()
        connector.tiers.cost = LoadCost(connector.tiers.cost.block_nbytes, deadline=600.0)
        yield arms


def ttft(llm: LLM, token_ids: Sequence[int]) -> float:
    """Return the milliseconds to the first token, with none of the prompt on the device or in host memory."""
    if llm.tiers.store is not None:
        while llm.engine.core.next_poll_seconds() is not None or llm.tiers.store.stats().pending_writes:
            llm.engine.step()
        empty_cpu(llm.tiers.store)
    llm.engine.core.scheduler.blocks.pool.forget_free()
    [completion] = llm.generate([token_ids], SamplingParams(temperature=0.0, max_tokens=1, ignore_eos=True))
    usage = completion.outputs[0].usage
    kv = usage.kv
    assert kv.reused["device"] + kv.reused["cpu"] == 0, f"the prompt was not only in Redis: {kv}"
    return usage.ttft_ms


def measure(arms: dict[str, LLM], prompts: Sequence[Sequence[int]], latency: float, rate: float) -> Point:
    """Measure all rounds on one link."""
    for number in range(WARM_UPS):
        ttft(arms["decides"], prompts[number % len(prompts)])
    found: dict[str, list[float]] = {arm: [] for arm in ARMS}
    ttft(arms["loads"], prompts[0])
    for number in range(ROUNDS):
        for at in range(len(ARMS)):
            arm = ARMS[(number + at) % len(ARMS)]
            hopeless = found["loads"] and found["computes"] and min(found["loads"]) > HOPELESS * max(found["computes"])
            if arm == "loads" and hopeless and len(found[arm]) >= HOPELESS_ROUNDS:
                continue
            found[arm].append(ttft(arms[arm], prompts[number % len(prompts)]))
    return Point(latency * 1e3, rate / 1e6, {arm: median(times) for arm, times in found.items()})


def table(points: Sequence[Point]) -> str:
    """Format the points as Markdown."""
    lines = [
        "| latency, ms | MB/s | loads all, ms | computes all, ms | decides, ms | allowed, ms | |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for point in points:
        ms = point.ttft_ms
        lines.append(
            f"| {point.latency_ms:g} | {point.mb_per_second:g} | {ms['loads']:.0f} | {ms['computes']:.0f} "
            f"| {ms['decides']:.0f} | {point.allowed_ms:.0f} | {'met' if point.met else 'missed'} |"
        )
    return "\n".join(lines) + "\n"


def write(points: Sequence[Point], out: Path) -> None:
    """Write the points measured so far."""
    result = {
        "machine": asdict(describe_machine()),
        "prompt_tokens": PROMPT_BLOCKS * BLOCK + 1,
        "points": [asdict(point) for point in points],
    }
    write_results(out, "links", result, table(points))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write links.json and links.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.links", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--link",
        nargs=2,
        type=float,
        metavar=("MS", "MB/S"),
        help="measure only this link, and write nothing",
    )
    arguments = parser.parse_args(argv)
    every = [(latency, rate) for latency in LATENCIES for rate in RATES]
    links = every if arguments.link is None else [(arguments.link[0] / 1e3, arguments.link[1] * 1e6)]
    prompts = [prompt(PROMPT_BLOCKS * BLOCK + 1, salt) for salt in range(PROMPTS)]
    points = []
    binary = find_redis_server()
    assert binary is not None, "this benchmark needs redis-server on PATH"
    with tempfile.TemporaryDirectory(prefix="ebb-links-") as folder, ExitStack() as stack:
        root = Path(folder)
        companion = RedisCompanion(root / "redis", binary=binary, max_memory=1024 * _MIB)
        stack.callback(companion.stop)
        companion.start()
        assert companion.address.unix_path is not None
        link = stack.enter_context(SlowLink(root / "link", companion.address.unix_path))
        arms = stack.enter_context(three_engines(load_settings({}), f"unix://{root / 'link'}", root))
        for arm in ("decides", "loads"):
            for token_ids in prompts:
                arms[arm].generate([token_ids], SamplingParams(temperature=0.0, max_tokens=1))
        for latency, rate in links:
            link.set(latency, rate)
            points.append(measure(arms, prompts, latency, rate))
            print(table(points[-1:]).splitlines()[-1], flush=True)
            if arguments.link is None:
                write(points, arguments.out)
    return 0 if all(point.met for point in points) else 1


if __name__ == "__main__":
    raise SystemExit(main())
