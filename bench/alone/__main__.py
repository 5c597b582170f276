"""`python -m bench.alone`: ratios of Ebb's own speeds within one run, compared with those of an earlier version.

Machines differ and drift, ratios within a run much less. A slower step, a heavier server or a cache that misses
therefore shows. Exits with 1 if a ratio is worse than its baseline by more than its margin.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import uvloop
from tokenizers import Tokenizer

from app.config.settings import load_settings
from bench.alone.in_process import InProcess, in_process
from bench.alone.ratios import QUIET_GAP, engine_key, to_text, verdicts, worker_key, worker_prompt_key
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.peers import arms
from bench.peers.contest import Contest
from bench.peers.metrics import decode_key
from bench.peers.plan import PeersPlan, quick_plan
from bench.peers.points import SUITES, points
from bench.peers.prompts import PromptMaker
from bench.peers.record import Record
from bench.peers.sole import BusyError, sole_run
from bench.peers.summary import EBB_BF16
from bench.server import ServerFailedError
from models.download.resolve import DEFAULT_MODEL, resolve_model

BASELINE = Path(__file__).parents[1] / "results" / "baseline.json"
PLAN = PeersPlan(rounds=5, ttft=((512, 3), (2_048, 1)), turns_every=5)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and compare. Return 0, or 1 if something is worse or could not be measured."""
    arguments = _parse(argv)
    plan = quick_plan() if arguments.quick else PLAN
    plan = replace(plan, rounds=arguments.rounds or plan.rounds)
    record = Record()
    try:
        with (
            sole_run(arguments.cache_dir / "peers"),
            tempfile.TemporaryDirectory(prefix="ebb-alone-", ignore_cleanup_errors=True) as root,
        ):
            run_to_end(_measure(plan, arguments.cache_dir, Path(root), record), loop_factory=uvloop.new_event_loop)
    except (BusyError, ServerFailedError) as error:
        print(error, file=sys.stderr)
        return 1
    found = verdicts(record, _baseline())
    print(to_text(found))
    if arguments.update:
        _write({each.watched.key: each.value for each in found if each.value is not None})
    return int(any(each.failed for each in found) and not arguments.update)


async def _measure(plan: PeersPlan, cache_dir: Path, root: Path, record: Record) -> None:
    say = _speaker()
    model = resolve_model(DEFAULT_MODEL, cache_dir, say)
    make = PromptMaker(Tokenizer.from_file(str(model / "tokenizer.json")))
    entered = [arms.ebb(weights, model, root, plan) for weights in ("bf16", "int8")]
    contest = Contest(
        entered, points(plan, make, [suite for suite in SUITES if suite != "long"]), make, record, root, say
    )
    async with contest.started(), in_process(model, cache_dir, plan, make) as inner:
        for number in range(plan.rounds):
            await contest.measure_round(number, turns=plan.measures_turns(number))
            await _measure_inner(inner, plan, record, number)
            if rate := record.by_round(decode_key(plan.mixed.streams), EBB_BF16).get(number):
                record.add(QUIET_GAP, EBB_BF16, number, plan.mixed.streams / rate * 1e3)


async def _measure_inner(inner: InProcess, plan: PeersPlan, record: Record, number: int) -> None:
    for streams in plan.decode_streams:
        record.add(engine_key(streams), EBB_BF16, number, await inner.engine_rate(streams, f"{number}/engine"))
        record.add(worker_key(streams), EBB_BF16, number, inner.worker_rate(streams))
    for tokens, _ in plan.ttft:
        record.add(worker_prompt_key(tokens), EBB_BF16, number, inner.worker_prompt_seconds(tokens) * 1e3)


def _speaker() -> Callable[[str], None]:
    began = time.perf_counter()
    return lambda text: print(f"[{time.perf_counter() - began:5.0f} s] {text}", file=sys.stderr, flush=True)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.alone", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run a small size, which only checks that it works")
    parser.add_argument("--rounds", type=int, help=f"number of rounds; default {PLAN.rounds}, or 1 with --quick")
    parser.add_argument("--update", action="store_true", help="save this run as the baseline")
    parser.add_argument("--cache-dir", type=Path, default=load_settings({}).cache_dir, help="folder of the model")
    return parser.parse_args(argv)


def _baseline() -> dict[str, float]:
    if not BASELINE.exists():
        return {}
    stored: dict[str, float] = json.loads(BASELINE.read_text(encoding="utf-8"))["ratios"]
    return stored


def _write(values: Mapping[str, float]) -> None:
    machine = describe_machine()
    content = {
        "machine": {"cpu": machine.cpu, "cores": machine.cores, "instruction_sets": machine.instruction_sets},
        "ratios": {key: round(value, 4) for key, value in values.items()},
    }
    BASELINE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
