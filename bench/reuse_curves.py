"""`python -m bench.reuse_curves [--traces FOLDER]`: predicted hits at other sizes of a tier, against replays.

No model runs. The mixes are those of `bench.eviction`. The folder may have the traces `agent.jsonl.gz` and
`conversation.jsonl.gz`. The time is that of all six sizes of one tier, for each request.

A server with the default model then answers chats. The cost of the predictions is their share of the server's CPU time.
"""

import argparse
import asyncio
import hashlib
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from app.load.client import LoadClient, fixed_length
from bench.ending import run_to_end
from bench.eviction import PolicyTier, replay
from bench.eviction_trace import AGENTS, BLOCK, MIXES, Ask, trace
from bench.machine import describe_machine
from bench.published_traces import agents, conversations
from bench.report import RESULTS, Target, write_results
from bench.report_tables import targets_table
from bench.server import EbbServer, ServerSettings
from bench.workload import ScriptedChat, WorkloadShape, make_chats
from cache_tiers.cpu.eviction import make_eviction
from cache_tiers.curves.reuse_curves import FACTORS, MOST_PART_OF_CORE, ReuseCurves
from cache_tiers.owners.block_key import OWNER_BYTES, BlockKey
from cache_tiers.owners.owners import Owners

MOST_ERROR: Final = 0.02
SHAPE: Final = WorkloadShape(chats=8, turns=6)
ANSWER_TOKENS: Final = 48
FRESH_SECONDS: Final = 6.0
"""Time after which the metrics have the last request's predictions."""
PARTS: Final = ("ebb_plan_cpu_seconds_total", "process_cpu_seconds_total")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. The hit rates are those of `FACTORS` times the capacity in blocks."""

    traffic: str
    capacity: int
    replayed: list[float]
    predicted: list[float]
    ms_per_request: float

    @property
    def error(self) -> float:
        """The largest difference of two hit rates."""
        return max(abs(told - seen) for seen, told in zip(self.replayed, self.predicted, strict=True))


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of the predictions, and of the whole server, while it answered."""

    predictions: float
    server: float
    seconds: float


def measure(traffic: str, asks: Sequence[Ask], capacity: int) -> Row:
    """Compare the curve of one tier with replays. A sample needs keys whose bits are random."""
    head, keys = bytes(OWNER_BYTES), dict[BlockKey, BlockKey]()
    for ask in asks:
        for name in ask.chain:
            keys.setdefault(name, BlockKey(head + hashlib.sha256(name).digest()[OWNER_BYTES:]))
    make_policy = partial(make_eviction, "returning")
    curves = ReuseCurves(lambda: {"cpu": capacity}, lambda _: make_policy, Owners(), clock=lambda: 0.0)
    began = time.process_time()
    for ask in asks:
        curves.note([keys[name] for name in ask.chain], ask.num_prompt, 0, range(0))
    seconds = time.process_time() - began
    curve = curves.curves()["cpu"][None]
    return Row(
        traffic,
        capacity,
        [replay(asks, PolicyTier(round(capacity * factor), make_policy())) for factor in FACTORS],
        [found / curve.asked for found in curve.found],
        1e3 * seconds / len(asks),
    )


async def measure_cost(state_dir: Path) -> Cost:
    """Have a server with all tiers answer chats, and return what the predictions cost."""

    async def play(client: LoadClient, chat: ScriptedChat) -> None:
        answers: list[str] = []
        for _ in chat.questions:
            answers.append((await client.chat(chat.messages(answers), fixed_length(ANSWER_TOKENS))).text)

    async with EbbServer(ServerSettings("curves"), state_dir) as server:
        await asyncio.sleep(FRESH_SECONDS)
        before, began = await server.client.metrics(), time.perf_counter()
        await asyncio.gather(*(play(server.client, chat) for chat in make_chats(SHAPE)))
        seconds = time.perf_counter() - began
        await asyncio.sleep(FRESH_SECONDS)
        after = await server.client.metrics()
    predictions, whole = (after[name] - before[name] for name in PARTS)
    return Cost(predictions, whole, seconds)


def targets(rows: Sequence[Row], cost: Cost) -> list[Target]:
    """Return the largest error, and the cost of the predictions in one run."""
    return [
        Target("largest error, percentage points", 100 * max(row.error for row in rows), 100 * MOST_ERROR, False),
        Target(
            "CPU time of the predictions over the server's", cost.predictions / cost.server, MOST_PART_OF_CORE, False
        ),
        Target("part of a core while answering", cost.predictions / cost.seconds, MOST_PART_OF_CORE, False),
    ]


def table(rows: Sequence[Row]) -> str:
    """Format the rows as Markdown: the replayed hit rate, and the error of the prediction in percentage points."""
    sizes = " | ".join(f"× {factor:g}" for factor in FACTORS)
    lines = [f"| traffic | tier, tokens | {sizes} |", "| --- | ---: |" + " ---: |" * len(FACTORS)]
    for row in rows:
        pairs = zip(row.replayed, row.predicted, strict=True)
        cells = " | ".join(f"{100 * seen:.1f} % ({100 * (told - seen):+.1f})" for seen, told in pairs)
        lines.append(f"| {row.traffic} | {row.capacity * BLOCK} | {cells} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write reuse_curves.json and reuse_curves.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.reuse_curves", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--traces", type=Path, help="folder with agent.jsonl.gz and conversation.jsonl.gz")
    arguments = parser.parse_args(argv)
    traffics: dict[str, tuple[Callable[[], Sequence[Ask]], int]] = {
        mix.name: (partial(trace, mix, 1), 2048) for mix in (*MIXES, AGENTS)
    }
    if arguments.traces is not None:
        traffics["coding agents"] = (partial(agents, arguments.traces), 8192)
        traffics["conversations"] = (partial(conversations, arguments.traces), 32768)
    with tempfile.TemporaryDirectory(prefix="ebb-curves-") as folder:
        cost = run_to_end(measure_cost(Path(folder)))
    rows = []
    for name, (asks, capacity) in traffics.items():
        rows.append(measure(name, asks(), capacity))
        print(f"{table(rows[-1:]).splitlines()[-1]} {rows[-1].ms_per_request:.2f} ms each", flush=True)
    held = targets(rows, cost)
    result = {"machine": asdict(describe_machine()), "rows": [asdict(row) for row in rows], "cost": asdict(cost)}
    text = f"{table(rows)}\n{targets_table(held)}\n"
    write_results(arguments.out, "reuse_curves", result, text)
    return 0 if all(target.met for target in held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
