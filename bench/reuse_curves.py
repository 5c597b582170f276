"""`python -m bench.reuse_curves [--traces FOLDER]`: predicted hits at other sizes of a tier, against replays.

No model runs. The mixes are those of `bench.eviction`. The folder may have the traces `agent.jsonl.gz` and
`conversation.jsonl.gz`. The time is that of all six sizes of one tier, for each request.
"""

import argparse
import gzip
import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.eviction import AGENTS, BLOCK, MIXES, Ask, PolicyTier, replay, trace
from bench.machine import describe_machine
from bench.report import RESULTS, write_results
from cache_tiers.cpu.eviction import make_eviction
from cache_tiers.curves.reuse_curves import FACTORS, ReuseCurves
from cache_tiers.owners.block_key import OWNER_BYTES, BlockKey
from cache_tiers.owners.owners import Owners

CONVERSATION_BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. The hit rates are those of `FACTORS` times the capacity in blocks."""

    traffic: str
    capacity: int
    replayed: list[float]
    predicted: list[float]
    ms_per_request: float


def _agents(path: Path) -> Iterator[Ask]:
    """Yield the requests of coding agents, whose sessions begin within four hours."""
    source = random.Random(1)
    for session in _lines(path):
        at, known = source.uniform(0, 4 * 3600), list[bytes]()
        for each in session["requests"]:
            known = [*known[: each["keep"]], *(f"{session['id']}/{block}".encode() for block in each["new"])]
            at += each["think"]
            yield Ask(at, len(known), tuple(map(BlockKey, known)))
            at += each["api"] or 0.0


def _conversations(path: Path) -> Iterator[Ask]:
    for each in _lines(path):
        parts = range(CONVERSATION_BLOCK // BLOCK)
        names = [BlockKey(f"{block}/{part}".encode()) for block in each["hash_ids"] for part in parts]
        yield Ask(each["timestamp"] / 1e3, len(names), tuple(names))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        yield from map(json.loads, file)


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
    """Measure, print, and write reuse_curves.json and reuse_curves.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.reuse_curves", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--traces", type=Path, help="folder with agent.jsonl.gz and conversation.jsonl.gz")
    arguments = parser.parse_args(argv)
    traffics: dict[str, tuple[Callable[[], Sequence[Ask]], int]] = {
        mix.name: (partial(trace, mix, 1), 2048) for mix in (*MIXES, AGENTS)
    }
    if arguments.traces is not None:
        agents, conversations = (arguments.traces / f"{name}.jsonl.gz" for name in ("agent", "conversation"))
        traffics["coding agents"] = (lambda: sorted(_agents(agents), key=lambda ask: ask.at), 8192)
        traffics["conversations"] = (lambda: list(_conversations(conversations)), 32768)
    rows = []
    for name, (asks, capacity) in traffics.items():
        rows.append(measure(name, asks(), capacity))
        print(f"{table(rows[-1:]).splitlines()[-1]} {rows[-1].ms_per_request:.2f} ms each", flush=True)
    result: Mapping[str, Any] = {"machine": asdict(describe_machine()), "rows": [asdict(row) for row in rows]}
    write_results(arguments.out, "reuse_curves", result, table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
