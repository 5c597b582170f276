"""`python -m bench.fleet_wire`: what a replica costs against an engine in the server's process, and a hand-over.

    python -m bench.fleet_wire [--rounds 7]

The CPU of the wire is measured without a model: both ends of the connection are in one process, with a stub as the
engine. A replica on the server's machine has a pair of sockets, and one of another machine TCP with TLS. Latency and
throughput are measured on a small model of random weights: an engine in this process and one replica, in turns, each
with 32 answers at a time. Then answers are handed over between replicas of two roles. Prints tables, and writes
bench/results/fleet_wire.json and fleet_wire.md.
"""

import argparse
import asyncio
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final, TypeVar, cast

from app.host.backend import Backend, GenerationStream
from app.observability.percentiles import percentile
from bench.hand_over import HandOverCost, measure_hand_over
from bench.machine import Machine, describe_machine
from bench.random_llama import write_random_llama
from bench.report import RESULTS, show_results
from bench.report_tables import table
from bench.stats import median
from cache_tiers.owners.block_key import KeyNamespace
from cache_tiers.tier import TierId
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.request_stream import RequestStream
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SchedulerConfig, SpeculationConfig
from engine.fleet.build import build_fleet
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.gateway.link import Link
from engine.fleet.replica.server import ReplicaServer
from engine.fleet.wire.handshake import new_token
from engine.fleet.wire.tls import Identity
from engine.intake.prefix_keys import PrefixKeys, TenantSalts
from engine.loop.async_llm import AsyncLLMEngine
from engine.loop.stats import EngineStats
from engine.wiring.build import build_engine
from models.download.resolve import resolve_model

T = TypeVar("T")

PAIR: Final = "pair of sockets"
WIRES: Final = (PAIR, "TCP with TLS")
IN_PROCESS: Final = "in process"
REPLICA: Final = "replica"
STREAMS: Final = 32
MANY_STREAMS: Final = 256
STEPS: Final = 1000
PROMPT: Final = 64
TOKENS: Final = 200
SIZES: Final = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "tie_word_embeddings": True,
}
PARAMS: Final = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True, seed=1)


@dataclass(frozen=True, slots=True)
class WireCost:
    """CPU of both ends of the wire, in microseconds a token, beyond that of delivering in one process."""

    wire: str
    streams: int
    added_us: float


@dataclass(frozen=True, slots=True)
class LoadResult:
    """One round of answers: tokens per second, and the time between two outputs of a stream in milliseconds."""

    rate: float
    gap_p50_ms: float
    gap_p99_ms: float


class StubEngine:
    """Streams that get a token each when the benchmark says so."""

    kv_fingerprint = "stub"
    max_model_len = 8192
    is_broken = False
    tier_notes: Mapping[TierId, str] = MappingProxyType({})
    keys = PrefixKeys(
        KeyNamespace(
            model_fingerprint="stub",
            numerics="stub",
            kv_dtype="float32",
            block_size=64,
            layout_version=1,
            tp_rank=0,
            tp_size=1,
            tenant_salt=b"",
        ),
        TenantSalts(b"stub"),
    )

    def __init__(self) -> None:
        self.streams: list[RequestStream] = []

    def stats(self) -> EngineStats:
        """Return statistics of an engine that has done nothing."""
        return EngineStats()

    def ask(self, _: object, otherwise: T) -> T:
        """Return `otherwise`, since there is no scheduler to report of."""
        return otherwise

    async def generate(self, request: GenerateRequest) -> list[RequestStream]:
        """Return the streams of a request, which get nothing by themselves."""
        names = [f"req-{len(self.streams) + at}" for at in range(request.num_answers)]
        made = [RequestStream(name, request.params, lambda _: None) for name in names]
        self.streams += made
        return made

    def step(self, number: int) -> None:
        """Put a token into every stream."""
        for stream in self.streams:
            stream.put(RequestOutput(request_id=stream.request_id, text=" word", token_ids=(number,)))


class Count:
    """Listener of many streams that counts the outputs of a step."""

    def __init__(self, streams: int) -> None:
        self._streams = streams
        self._left = streams
        self._whole = asyncio.get_running_loop().create_future()

    def listen(self, _output: RequestOutput) -> bool:
        """Count an output."""
        self._left -= 1
        if self._left == 0:
            self._whole.set_result(None)
        return True

    async def wait(self) -> None:
        """Wait for the outputs of a whole step."""
        await self._whole
        self._left = self._streams
        self._whole = asyncio.get_running_loop().create_future()


async def cpu_per_token(streams: int, wire: str | None) -> float:
    """Return the CPU seconds of delivering a token through one of the WIRES; through none, in one process."""
    engine, count = StubEngine(), Count(streams)
    request = GenerateRequest(prompt_token_ids=list(range(PROMPT)), params=PARAMS)
    link = None if wire is None else await _linked(engine, wire)
    for number in range(streams):
        if link is None:
            [stream] = await engine.generate(request)
        else:
            answer = RemoteAnswer(
                request_id=f"req-{number}", request=request, choice=0, abort=lambda _: None, on_end=lambda _: None
            )
            await link.begin(request, [answer])
            stream = answer.stream
        stream.set_listener(count.listen)
    began = 0.0
    for step in range(STEPS + STEPS // 10):
        if step == STEPS // 10:
            began = time.process_time()
        engine.step(step)
        await count.wait()
    return (time.process_time() - began) / (STEPS * streams)


async def _linked(engine: StubEngine, wire: str) -> Link:
    """Connect a link to a replica's server in this process."""
    token, ready = new_token(), asyncio.Event()
    events = SimpleNamespace(
        on_note=lambda _: None,
        on_ready=lambda _: ready.set(),
        on_failed=lambda *_: None,
        on_report=lambda *_: None,
        on_draining=lambda _: None,
        on_lost=lambda *_: None,
    )
    link, server = Link(0, 1, token, cast("Any", events)), ReplicaServer(token, 1)
    await (_connect_pair if wire == PAIR else _connect_tls)(link, server)
    server.begin()
    server.serve(cast("AsyncLLMEngine", engine))
    await ready.wait()
    return link


async def _connect_pair(link: Link, server: ReplicaServer) -> None:
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    await loop.create_connection(lambda: link.connection, sock=ours)
    await loop.create_connection(server.admit, sock=theirs)


async def _connect_tls(link: Link, server: ReplicaServer) -> None:
    loop = asyncio.get_running_loop()
    gateway, replica = Identity.new(), Identity.new()
    accepting = replica.accepting(gateway.certificate)
    listener = await loop.create_server(server.admit, "127.0.0.1", 0, ssl=accepting)
    port = listener.sockets[0].getsockname()[1]
    await loop.create_connection(
        lambda: link.connection, "127.0.0.1", port, ssl=gateway.connecting(replica.certificate)
    )
    listener.close()


def wire_costs() -> tuple[WireCost, ...]:
    """Measure each wire with few and with many streams."""
    costs = list[WireCost]()
    for streams in (STREAMS, MANY_STREAMS):
        alone = asyncio.run(cpu_per_token(streams, None))
        costs += [WireCost(wire, streams, 1e6 * (asyncio.run(cpu_per_token(streams, wire)) - alone)) for wire in WIRES]
    return tuple(costs)


async def load(engine: Backend, streams: int, salt: int) -> LoadResult:
    """Generate `streams` answers at a time, and measure all tokens after the first ones."""
    prompts = [
        [1000 + (salt * 7919 + own * 104729 + at * 17) % 20000 for at in range(PROMPT)] for own in range(streams)
    ]
    begun = [(await engine.generate(GenerateRequest(prompt_token_ids=prompt, params=PARAMS)))[0] for prompt in prompts]
    times = await asyncio.gather(*map(_times, begun))
    first, last = max(each[0] for each in times), min(each[-1] for each in times)
    inside = [at for each in times for at in each if first <= at <= last]
    gaps = [1000 * (b - a) for each in times for a, b in pairwise(each) if first <= a and b <= last]
    return LoadResult(len(inside) / (last - first), percentile(gaps, 50), percentile(gaps, 99))


async def _times(stream: GenerationStream) -> list[float]:
    return [time.perf_counter() async for _ in stream]


async def measured_loads(config: EngineConfig, rounds: int) -> dict[str, list[LoadResult]]:
    """Measure an engine in this process and one replica in turns. The first round of each is not counted."""
    local = await asyncio.to_thread(build_engine, config, lambda _: None)
    remote = await asyncio.to_thread(build_fleet, config, 1, lambda _: None)
    engines: dict[str, Backend] = {IN_PROCESS: local, REPLICA: remote}
    found: dict[str, list[LoadResult]] = {name: [] for name in engines}
    for engine in engines.values():
        await engine.start()
    try:
        for number in range(rounds + 1):
            order = list(engines) if number % 2 else list(engines)[::-1]
            for name in order:
                found[name].append(await load(engines[name], STREAMS, number))
    finally:
        for engine in engines.values():
            await engine.stop(0.0)
    return {name: each[1:] for name, each in found.items()}


@dataclass(frozen=True, slots=True)
class FleetReport:
    """One run. loads: the rounds of an engine in this process and of one replica."""

    measured_on: str
    machine: Machine
    wire: tuple[WireCost, ...]
    loads: Mapping[str, Sequence[LoadResult]]
    hand_over: HandOverCost


def to_markdown(report: FleetReport) -> str:
    """Format the tables."""
    medians = {name: _median(results) for name, results in report.loads.items()}
    local, remote = medians[IN_PROCESS], medians[REPLICA]
    wire = [(cost.wire, f"{cost.streams}", f"{cost.added_us:.1f}") for cost in report.wire]
    loads = [
        (name, f"{each.rate:.0f}", f"{each.gap_p50_ms:.2f}", f"{each.gap_p99_ms:.2f}") for name, each in medians.items()
    ]
    heading = (
        f"# Cost of a replica\n\nMeasured on {report.measured_on}: {report.machine.cpu}, {report.machine.cores} cores. "
        "Times of answers are medians of the rounds."
    )
    ratios = (
        f"The replica has {remote.rate / local.rate:.3f} times the throughput, and "
        f"{remote.gap_p99_ms / local.gap_p99_ms:.3f} times the 99th percentile of the time between tokens."
    )
    parts = [
        heading,
        table(("wire", "streams", "added CPU, µs a token"), wire),
        table(("engine", "tokens/s", "gap p50, ms", "gap p99, ms"), loads),
        ratios,
        report.hand_over.table,
    ]
    return "\n\n".join(parts) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write fleet_wire.json and fleet_wire.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cache-dir", type=Path, default=Path.home() / ".cache/ebb")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    costs = wire_costs()
    with tempfile.TemporaryDirectory(prefix="ebb-fleet-") as folder:
        source = resolve_model("smollm2-135m-instruct", arguments.cache_dir, print)
        path = Path(folder)
        write_random_llama(source, path, SIZES, only_known_tokens=True)
        config = EngineConfig(
            model=ModelConfig(path=path, name="random"),
            cache=CacheConfig(tiers=None, secret=b"a secret of the benchmark", kv_memory=64 << 20),
            scheduler=SchedulerConfig(max_num_seqs=STREAMS),
            device=DeviceConfig(cache_dir=arguments.cache_dir, packed_size=0),
            speculation=SpeculationConfig(prompt_lookup=False),
        )
        loads = asyncio.run(measured_loads(config, arguments.rounds))
        state = path / "state"
        state.mkdir()
        hand_over = asyncio.run(measure_hand_over(config, state, print))
    report = FleetReport(date.today().isoformat(), describe_machine(), costs, loads, hand_over)
    show_results(arguments.out, "fleet_wire", asdict(report), to_markdown(report))
    return 0


def _median(results: Sequence[LoadResult]) -> LoadResult:
    return LoadResult(
        median([each.rate for each in results]),
        median([each.gap_p50_ms for each in results]),
        median([each.gap_p99_ms for each in results]),
    )


if __name__ == "__main__":
    raise SystemExit(main())
