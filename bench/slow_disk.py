"""`python -m bench.slow_disk`: the cost of a disk that hangs or writes 10 MB/s for requests that Redis can serve.

Three engines with the same CPU memory and a Redis each take turns: without a disk, with one that hangs from the moment
at which chats return, and with one of 10 MB/s. Each figure is relative to the engine without a disk in the same round.
Needs FUSE (`apt-get install fuse3 libfuse3-dev pkg-config`). Return 1 if a target is missed.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, Target, show_results
from bench.report_tables import targets_table
from bench.stats import median
from cache_tiers.config import DiskConfig
from engine.config import EngineConfig
from engine.wiring.build import build_engine
from models.download.resolve import find_model
from tests.faults.scene import Answer, Scene
from tests.faults_disk.disk import Disk, Mode, disk_at
from tests.integration.engine_rig import MIB, engine_config
from tests.redis_server import RedisServer

ARMS: Final[dict[str, Mode | None]] = {"no disk": None, "hangs": "hang", "10 MB/s": "slow"}
CHATS: Final = 4
PROMPT_TOKENS: Final = 1100
MOST: Final = 1.03
"""Largest time relative to the engine without a disk."""
FEWEST_HITS: Final = 0.97


@dataclass(frozen=True, slots=True)
class Measured:
    """One turn of an arm. Times are medians in seconds. restored: tokens from CPU memory, Redis and the disk."""

    from_cpu: float
    from_below: float
    step: float
    restored: int


@dataclass(frozen=True, slots=True)
class Arm:
    """An engine, and the disk that fails in each of its turns."""

    scene: Scene
    disk: Disk | None
    mode: Mode | None

    async def turn(self, number: int) -> Measured:
        """Compute chats, let the disk fail, and bring the chats back, half of them from CPU memory."""
        prompts = [_prompt(number * 2 * CHATS + each) for each in range(2 * CHATS)]
        for prompt in prompts:
            await self.scene.ask(prompt, 1)
        await self.scene.until(self.scene.is_settled)
        self._be(self.mode)
        async with self.scene.streams() as streams:
            began = time.perf_counter()
            above = [await self._return(prompt, below=False) for prompt in prompts[CHATS:]]
            below = [await self._return(prompt, below=True) for prompt in prompts[:CHATS]]
            step = streams.gap(began, time.perf_counter(), 50)
        self._be("ok")
        await self.scene.until(lambda: self.scene.engine.is_idle)
        from_cpu, from_below = (median([answer.ttft for answer in part]) for part in (above, below))
        return Measured(from_cpu, from_below, step, sum(answer.kv.cached for answer in (*above, *below)))

    async def _return(self, prompt: Sequence[int], *, below: bool) -> Answer:
        self.scene.scheduler.blocks.pool.forget_free()
        if below:
            self.scene.forget()
        return await self.scene.ask(prompt, 4)

    def _be(self, mode: Mode | None) -> None:
        if self.disk is not None and mode is not None:
            self.disk.be(mode)


def _prompt(number: int) -> list[int]:
    return [1000 + (number * 7919 + at * 104729) % 20000 for at in range(PROMPT_TOKENS)]


async def measure(root: Path, model: Path, rounds: int) -> dict[str, list[Measured]]:
    """Return what each arm measured, by round. The first round warms up."""
    found: dict[str, list[Measured]] = {name: [] for name in ARMS}
    async with AsyncExitStack() as stack:
        arms = {name: await _opened(stack, _folder(root, name), model, mode) for name, mode in ARMS.items()}
        for number in range(rounds + 1):
            for name in [*ARMS][:: 1 if number % 2 else -1]:
                measured = await arms[name].turn(number)
                if number:
                    found[name].append(measured)
    return found


def _folder(root: Path, arm: str) -> Path:
    folder = root / str([*ARMS].index(arm))
    (folder / "redis").mkdir(parents=True)
    return folder


async def _opened(stack: AsyncExitStack, folder: Path, model: Path, mode: Mode | None) -> Arm:
    redis, below = RedisServer(folder / "redis"), stack.enter_context(ExitStack())
    below.callback(redis.kill)
    disk = below.enter_context(disk_at(folder)) if mode is not None else None
    config = engine_config(
        model, folder / "state", blocks=200, cpu_memory=512 * MIB, redis_url=f"unix://{redis.socket}"
    ).with_fields(decode_passes=1)
    engine = await asyncio.to_thread(build_engine, _on(config, disk), lambda _: None)
    await engine.start()
    stack.push_async_callback(engine.stop, 20.0)
    return Arm(Scene(engine), disk, mode)


def _on(config: EngineConfig, disk: Disk | None) -> EngineConfig:
    if disk is None:
        return config
    assert config.cache.tiers is not None
    tiers = replace(config.cache.tiers, disk=DiskConfig(disk.folder / "kv", 1024 * MIB))
    return replace(config, cache=replace(config.cache, tiers=tiers))


def targets(found: dict[str, list[Measured]]) -> list[Target]:
    """Return the median ratios of each arm to the one without a disk, with their bounds."""
    without = found["no disk"]
    held: list[Target] = []
    for name in [*ARMS][1:]:
        pairs = list(zip(found[name], without, strict=True))
        times = {
            "TTFT from CPU memory": [mine.from_cpu / its.from_cpu for mine, its in pairs],
            "TTFT from Redis": [mine.from_below / its.from_below for mine, its in pairs],
            "step": [mine.step / its.step for mine, its in pairs],
        }
        held += [Target(f"{name}: {what}", median(ratios), MOST, at_least=False) for what, ratios in times.items()]
        hits = [mine.restored / its.restored for mine, its in pairs]
        held.append(Target(f"{name}: restored tokens", median(hits), FEWEST_HITS, at_least=True))
    return held


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.slow_disk", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--model", type=Path, help="a folder; the default model without it")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args(argv)
    settings = load_settings({})
    model = arguments.model or find_model(settings.model, settings.cache_dir)
    if model is None:
        raise SystemExit(f"{settings.model} is not on this machine")
    with tempfile.TemporaryDirectory(prefix="ebb-slow-disk-", ignore_cleanup_errors=True) as made:
        found = run_to_end(measure(Path(made).resolve(), model, arguments.rounds))
    held = targets(found)
    rounds = {name: [asdict(each) for each in turns] for name, turns in found.items()}
    result = {"measured_on": time.strftime("%Y-%m-%d"), "machine": asdict(describe_machine()), "rounds": rounds}
    show_results(arguments.out, "slow_disk", result, targets_table(held) + "\n")
    return 0 if all(each.met for each in held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
