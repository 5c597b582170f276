"""Workloads on four replicas of a small model of random weights, with one thread each."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.observability.percentiles import percentile
from bench.fleet_policies.named import reusable_tokens
from bench.fleet_policies.outcome import Outcome
from bench.fleet_policies.workloads import Ask, Workload
from bench.random_llama import write_random_llama
from cache_tiers.config import TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import Usage
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SchedulerConfig, SpeculationConfig
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.fleet.routing.router import Assignment, RoutedPrompt, Router, Seat
from engine.fleet.wire.report import Report
from models.download.resolve import resolve_model

REPLICAS: Final = 4
BLOCK: Final = 64
PLACES: Final = 16
SIZES: Final = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "tie_word_embeddings": True,
}
BLOCK_NBYTES: Final = 8 * 2 * 2 * 64 * BLOCK * 2
DEVICE_BLOCKS: Final = 160
"""Blocks of a replica's device pool, which holds the longest prompt and little more."""

REDIS_BYTES: Final = 1 << 31


@dataclass(slots=True)
class Seen:
    """One request as its client saw it, and the replica that got it."""

    at: float
    first_token: float = 0.0
    replica: int = 0
    predicted: float | None = None
    usage: Usage | None = None


class WatchedRouter:
    """A router whose choices and reports are recorded.

    chosen: the assignment of each request by the order of the calls.
    """

    def __init__(self, router: Router) -> None:
        self._router = router
        self.chosen: list[Assignment] = []
        self.reports: list[Report] = []

    def join(self, seat: Seat) -> None:
        """See Router."""
        self._router.join(seat)

    def leave(self, seat: Seat) -> None:
        """See Router."""
        self._router.leave(seat)

    def take(self, seat: Seat, report: Report) -> None:
        """See Router."""
        self.reports.append(report)
        self._router.take(seat, report)

    def choose(self, prompt: RoutedPrompt) -> Seat:
        """See Router."""
        return self._router.choose(prompt)

    def route(self, prompt: RoutedPrompt) -> list[Assignment]:
        """See Router."""
        assignments = self._router.route(prompt)
        self.chosen.append(assignments[0])
        return assignments


@contextmanager
def small_model(cache_dir: Path) -> Iterator[Path]:
    """Write the model, and yield its folder."""
    with TemporaryDirectory(prefix="ebb-fleet-") as folder:
        source = resolve_model("smollm2-135m-instruct", cache_dir, print)
        write_random_llama(source, Path(folder), SIZES, only_known_tokens=True)
        yield Path(folder)


def distinct_blocks(workload: Workload) -> int:
    """Return about how many blocks the workload computes if nothing is computed twice."""
    last = sum(_longest(session) for session in workload.sessions)
    return max(1, last // BLOCK)


def _longest(session: Sequence[Ask]) -> int:
    length = 0
    for ask in session:
        length = (length if ask.continues else 0) + len(ask.fresh) + ask.answer
    return length


def cpu_blocks(workload: Workload) -> int:
    """Return the blocks that fit in the CPU memory of all replicas together."""
    share = round(workload.kv_share * distinct_blocks(workload)) if workload.kv_share < 1 else REPLICAS * 2_000
    return max(REPLICAS * 24, share)


def engine_config(model: Path, folder: Path, cache_dir: Path, workload: Workload, *, redis: bool) -> EngineConfig:
    """Return the configuration of all replicas together. CPU memory has the workload's share of its KV."""
    return EngineConfig(
        model=ModelConfig(path=model, name="random"),
        cache=CacheConfig(
            tiers=TierConfig(cpu_blocks(workload) * BLOCK_NBYTES, "auto" if redis else "off", REDIS_BYTES, folder),
            secret=b"a secret of the benchmark",
            kv_memory=REPLICAS * DEVICE_BLOCKS * BLOCK_NBYTES,
        ),
        scheduler=SchedulerConfig(max_num_seqs=PLACES),
        device=DeviceConfig(cache_dir=cache_dir, packed_size=0),
        speculation=SpeculationConfig(prompt_lookup=False),
    )


@dataclass(slots=True)
class Played:
    """A workload that has been played.

    seen: each request, in order of its end. reports: of the replicas.
    """

    outcome: Outcome
    seen: list[Seen]
    reports: list[Report] = field(default_factory=list)


async def play(workload: Workload, config: EngineConfig, router: Router) -> Played:
    """Play a workload on new replicas."""
    watched = WatchedRouter(router)
    engine = await asyncio.to_thread(build_fleet, config, REPLICAS, lambda _: None, router=watched)
    await engine.start()
    try:
        await _warm_up(engine)
        watched.chosen.clear()
        pids = [each.pid for each in engine.stats().replicas]
        before, began = [_cpu_seconds(pid) for pid in pids], time.monotonic()
        seen: list[Seen] = []
        await asyncio.gather(*(_play_session(engine, watched, session, began, seen) for session in workload.sessions))
        busy = sum(_cpu_seconds(pid) - earlier for pid, earlier in zip(pids, before, strict=True))
    finally:
        await engine.stop(0.0)
    return Played(_outcome(workload, seen, busy), seen, watched.reports)


async def _warm_up(engine: RemoteEngine) -> None:
    """Have every replica learn its costs."""
    params = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
    for number in range(4):
        prompts = [[500 + (number * 97 + each * 31 + at * 17) % 400 for at in range(300)] for each in range(REPLICAS)]
        begun = [
            await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params, tenant="warm-up"))
            for prompt in prompts
        ]
        for [stream] in begun:
            async for _ in stream:
                pass


async def _play_session(
    engine: RemoteEngine, router: WatchedRouter, session: Sequence[Ask], began: float, seen: list[Seen]
) -> None:
    history: list[int] = []
    for number, ask in enumerate(session):
        await asyncio.sleep(ask.wait if number else began + ask.wait - time.monotonic())
        prompt = [*(history if ask.continues else ()), *ask.fresh]
        params = SamplingParams(temperature=0.0, max_tokens=ask.answer, ignore_eos=True, seed=1)
        each, answer = Seen(time.monotonic() - began), list[int]()
        [stream] = await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=params))
        assignment = router.chosen[-1]
        each.replica, each.predicted = assignment.seat.epoch - 1, assignment.predicted
        async for output in stream:
            each.first_token = each.first_token or time.monotonic() - began - each.at
            answer += output.token_ids
            each.usage = output.usage or each.usage
        history = [*prompt, *answer]
        seen.append(each)


def _cpu_seconds(pid: int | None) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _outcome(workload: Workload, seen: Sequence[Seen], busy: float) -> Outcome:
    usages = [each.usage for each in seen if each.usage is not None]
    waits = [each.first_token for each in seen]
    return Outcome(
        computed=sum(each.kv.computed for each in usages),
        restored=sum(each.kv.reused["redis"] for each in usages),
        restored_bytes=sum(each.kv.loaded_bytes["redis"] for each in usages),
        prompt_tokens=sum(each.prompt_tokens for each in usages),
        reusable=reusable_tokens(workload.sessions),
        busy_seconds=busy,
        first_token=sum(waits) / len(waits),
        first_token_p99=percentile(waits, 99),
        counts=tuple(sum(each.replica == number for each in seen) for number in range(REPLICAS)),
    )
