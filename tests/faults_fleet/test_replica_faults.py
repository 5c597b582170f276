"""Replicas that are killed, frozen and cut off under load: no answer differs, and a table of the interruptions.

Eight clients ask one question after the other, of 500 to 2,000 tokens. Each fault strikes a replica at a random moment.
The next one follows when all replicas serve again.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from app.host.backend import GenerationStream
from app.observability.percentiles import percentile
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput, joined
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.config import EngineConfig
from engine.fleet.build import build_fleet
from engine.fleet.gateway import keeper
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.gateway.link import Link
from engine.fleet.remote_engine import RemoteEngine
from engine.wiring.build import build_engine
from tests.integration.engine.fleet.answers import Told, answers_of, prompt_of, told, until_states
from tests.integration.engine_rig import MIB, engine_config
from tests.redis_server import RedisServer

FAULTS = int(os.environ.get("FAULTS", "300")) // 2
"""The other half strikes replicas and servers (`test_gateway_faults`)."""
REPLICAS = 3
CLIENTS = 8
PROMPTS = (500, 1000, 2000)
PAUSE_SECONDS = (0.2, 2.0)
"""Time between the start of the last replica and the next fault."""
CONTINUED_SECONDS = 300
NOTICED_SECONDS = {"killed": 0.05, "frozen": 1.25}
"""Time within which a loss is noticed while the gateway has a core."""
BUSY = 4
"""Times that much is allowed, since the gateway, the clients and the other replicas share the machine's cores."""

GREEDY = SamplingParams(temperature=0.0, max_tokens=120, ignore_eos=True)
TIDES = '{"type": "array", "items": {"enum": ["spring tide", "neap tide"]}, "minItems": 30, "maxItems": 40}'
CALLS = 'start: ("<tool_call>" NAME "</tool_call>")+\nNAME: "ebb" | "flow"'
KINDS = (
    (GREEDY, 1),
    (replace(GREEDY, temperature=0.9, seed=7), 1),
    (replace(GREEDY, frequency_penalty=0.7, presence_penalty=0.2), 1),
    (replace(GREEDY, ignore_eos=False, form=StructuredOutput("json", TIDES)), 1),
    (replace(GREEDY, ignore_eos=False, form=StructuredOutput("lark", CALLS)), 1),
    (replace(GREEDY, temperature=0.9, seed=9), 4),
)
QUESTIONS = [(prompt_of(length, 10 * at + length), *kind) for at, kind in enumerate(KINDS) for length in PROMPTS]


@dataclass
class Fault:
    """One fault, with times in `time.perf_counter` seconds.

    noticed: the loss of the replica; 0 until then.
    gaps: interruption of each answer that had begun and continued on another replica, with the number of its question.
    """

    kind: str
    at: float
    noticed: float = 0.0
    gaps: list[tuple[int, float]] = field(default_factory=list)

    @property
    def detection(self) -> float:
        """Time until the loss was noticed."""
        return self.noticed - self.at

    def pauses(self, alone: Mapping[int, float]) -> list[float]:
        """Return the interruptions after the notice, each over the time to compute the prompt alone."""
        return [(gap - self.detection) / alone[prompt_length(number)] for number, gap in self.gaps]

    def longest_over_work(self, alone: Mapping[int, float]) -> float:
        """Return the longest interruption after the notice, over the least time that the others need for all prompts.

        Answers to one question share a prompt, and no prompt is divided among replicas.
        """
        work = [alone[prompt_length(number)] for number in {number for number, _ in self.gaps}]
        return (max(gap for _, gap in self.gaps) - self.detection) / max(*work, sum(work) / (REPLICAS - 1))


def prompt_length(number: int) -> int:
    """Return the number of prompt tokens of a question."""
    return len(QUESTIONS[number][0])


class Watched(keeper.ReplicaKeeper):
    """Keeper that notes when a replica is lost, and the answers that it had."""

    fault: Fault | None = None
    lost: ClassVar[set[str]] = set()

    def on_lost(self, link: Link, reason: str, answers: Sequence[RemoteAnswer]) -> None:
        """Note the loss."""
        if Watched.fault is not None and not Watched.fault.noticed:
            Watched.fault.noticed = time.perf_counter()
            Watched.lost = {each.request_id for each in answers if not each.is_aborted}
        super().on_lost(link, reason, answers)


class Load:
    """Answers that are read all the time, each compared with that of one engine alone."""

    def __init__(self, engine: RemoteEngine, expected: Sequence[list[Told]]) -> None:
        self.num_answers = 0
        self._engine = engine
        self._expected = expected
        self._numbers = count()

    async def run(self) -> None:
        """Ask one question after the other."""
        while True:
            number = next(self._numbers) % len(QUESTIONS)
            prompt, params, num_answers = QUESTIONS[number]
            streams = await self._engine.generate(
                GenerateRequest(prompt_token_ids=prompt, params=params, num_answers=num_answers)
            )
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._read(stream, number)) for stream in streams]
            for task, expected in zip(tasks, self._expected[number], strict=True):
                assert task.result() == expected, f"question {number}: {difference(task.result(), expected)}"
            self.num_answers += num_answers

    async def _read(self, stream: GenerationStream, number: int) -> Told:
        outputs: list[RequestOutput] = []
        last = time.perf_counter()
        async for output in stream:
            now = time.perf_counter()
            if output.request_id in Watched.lost and Watched.fault is not None:
                Watched.lost.discard(output.request_id)
                if outputs:
                    Watched.fault.gaps.append((number, now - last))
            outputs.append(output)
            last = now
        if outputs[-1].error is not None:
            raise AssertionError(f"{stream.request_id}: {outputs[-1].error}")
        return told(joined(outputs))


def difference(answer: Told, expected: Told) -> str:
    """Describe in a line where an answer differs."""
    pairs = zip(answer.token_ids, expected.token_ids, strict=False)
    at = next((at for at, (one, other) in enumerate(pairs) if one != other), "none")
    lengths = f"{len(answer.token_ids)} tokens of {len(expected.token_ids)}"
    return (
        f"{lengths}, first other token {at}, ended with {answer.finish_reason!r} instead of {expected.finish_reason!r}"
    )


@pytest.fixture
async def fleet(
    model_path: Path, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RemoteEngine]:
    monkeypatch.setattr(keeper, "PAUSES", (0.0,) * (FAULTS + 1))
    monkeypatch.setattr("engine.fleet.remote_engine.ReplicaKeeper", Watched)
    config = configured(model_path, tmp_path, f"unix://{redis_server.socket}")
    engine = await asyncio.to_thread(build_fleet, config, REPLICAS, lambda _: None)
    await engine.start()
    yield engine
    await engine.stop(0.0)


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    server = RedisServer(folder)
    yield server
    server.kill()


def configured(model_path: Path, folder: Path, redis_url: str) -> EngineConfig:
    config = engine_config(model_path, folder / "state", blocks=REPLICAS * 300, cpu_memory=512 * MIB)
    assert config.cache.tiers is not None
    return config.with_fields(tiers=replace(config.cache.tiers, redis_url=redis_url))


async def answers_alone(model_path: Path, folder: Path) -> list[list[Told]]:
    """Return the answers of one engine in this process to all questions."""
    config = configured(model_path, folder, "off").with_fields(tiers=None)
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    await engine.start()
    expected = [[told(each) for each in await answers_of(engine, *question)] for question in QUESTIONS]
    await engine.stop(0.0)
    return expected


def strike(engine: RemoteEngine, redis: RedisServer, kind: str, source: random.Random) -> None:
    """Break one replica, and Redis with it if the kind says so."""
    state = source.choice(engine.stats().replicas)
    assert state.pid is not None
    if kind.endswith("without Redis"):
        redis.freeze()
    if kind.startswith("cut"):
        links = engine._keeper.ready
        next(link for link in links if link.index == state.index).connection.close()
    else:
        os.kill(state.pid, signal.SIGSTOP if kind.startswith("frozen") else signal.SIGKILL)


async def test_no_answer_differs_after_any_fault(
    fleet: RemoteEngine, model_path: Path, tmp_path: Path, redis_server: RedisServer
) -> None:
    expected = await answers_alone(model_path, tmp_path)
    alone = await seconds_alone(fleet)
    load, source = Load(fleet, expected), random.Random(1)
    kinds = ("killed", "frozen", "cut off", "killed, without Redis", "frozen, without Redis")
    faults = []
    clients = asyncio.gather(*(load.run() for _ in range(CLIENTS)))
    for number in range(FAULTS):
        await until_states(fleet, *("ok",) * REPLICAS)
        # The moment of the fault is random, and nothing waits for a condition here.
        await asyncio.wait([clients], timeout=source.uniform(*PAUSE_SECONDS))
        assert not clients.done(), await clients
        Watched.fault = Fault(kinds[number % len(kinds)], time.perf_counter())
        faults.append(Watched.fault)
        strike(fleet, redis_server, Watched.fault.kind, source)
        await until_continued(Watched.fault, clients)
        redis_server.thaw()
        if (number + 1) % 10 == 0:
            print(f"{number + 1} faults, {load.num_answers} answers, 0 differ", flush=True)
    clients.cancel()
    with suppress(asyncio.CancelledError):
        await clients
    print_table(faults, alone)
    for fault in faults:
        most = NOTICED_SECONDS.get(fault.kind.removesuffix(", without Redis"))
        assert most is None or fault.detection <= BUSY * most, f"{fault.kind}: noticed after {fault.detection:.3f} s"


async def seconds_alone(engine: RemoteEngine) -> dict[int, float]:
    """Return the time to compute a prompt of each length while the replicas do nothing else."""
    seconds = {}
    for length in PROMPTS:
        tries = []
        for salt in range(3):
            began = time.perf_counter()
            await answers_of(engine, prompt_of(length, 500_000 + 10 * length + salt), replace(GREEDY, max_tokens=1))
            tries.append(time.perf_counter() - began)
        seconds[length] = percentile(tries, 50)
    return seconds


async def until_continued(fault: Fault, clients: asyncio.Future[list[None]]) -> None:
    """Wait until all answers that the fault interrupted have continued, so that each gap belongs to one fault.

    Several prompts may have to be computed again, one after the other, which takes minutes on a busy machine.
    """
    try:
        async with asyncio.timeout(CONTINUED_SECONDS):
            while not clients.done() and (not fault.noticed or Watched.lost):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    except TimeoutError:
        clients.cancel()
        raise AssertionError(f"{fault.kind}: {sorted(Watched.lost)} wait after {CONTINUED_SECONDS} s") from None


def print_table(faults: Sequence[Fault], alone: dict[int, float]) -> None:
    """Print the times until a loss was noticed, and the interruptions, in milliseconds.

    Over alone: the interruption after the notice, over the time to compute the prompt alone. Over work: the longest of
    a fault, over the least time that the other replicas need for all its prompts.
    """
    shown = ", ".join(f"{length:,} tokens {1000 * seconds:,.0f} ms" for length, seconds in alone.items())
    print(f"\nComputing a prompt alone: {shown}")
    print(
        "\n| fault | faults | noticed p50 | max | answers continued | gap p50 | p99 | max | over alone p50 | p99 "
        "| over work p50 | max |"
    )
    print("| --- |" + 11 * " ---: |")
    for kind in dict.fromkeys(fault.kind for fault in faults):
        own = [fault for fault in faults if fault.kind == kind]
        noticed = [1000 * fault.detection for fault in own]
        gaps = [1000 * gap for fault in own for _, gap in fault.gaps] or [0.0]
        over = [each for fault in own for each in fault.pauses(alone)] or [0.0]
        work = [fault.longest_over_work(alone) for fault in own if fault.gaps] or [0.0]
        cells = [percentile(noticed, 50), max(noticed), percentile(gaps, 50), percentile(gaps, 99), max(gaps)]
        first, most, *rest = [f"{cell:,.0f}" for cell in cells]
        ratios = [
            f"{each:.1f}" for each in (percentile(over, 50), percentile(over, 99), percentile(work, 50), max(work))
        ]
        print("|", " | ".join([kind, str(len(own)), first, most, str(len(gaps)), *rest, *ratios]), "|")
