"""`python -m bench.api`: cost and robustness of the API: streams, first bytes, lists, hostile requests.

The server is the real one in a separate process, with an engine that replays tokens. Linux.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import uvloop

from bench.api.first_byte import measure_first_byte
from bench.api.fuzz import fuzz, fuzz_with_schemathesis
from bench.api.report import ApiReport, content, passed, to_markdown
from bench.api.store import measure_store
from bench.api.streams import StreamsPlan, measure_streams
from bench.ending import run_to_end
from bench.machine import describe_machine
from bench.report import RESULTS, show_results

SECTIONS = ("streams", "first-byte", "store", "fuzz")
FROZEN_SHARE = 10
"""One reader in this many stops reading."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write api.json and api.md. Returns 1 if a target is missed."""
    arguments = _parse(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-api-", ignore_cleanup_errors=True) as root:
        report = run_to_end(_measure(arguments, Path(root)), loop_factory=uvloop.new_event_loop)
    show_results(arguments.out, "api", content(report), to_markdown(report))
    return 0 if passed(report) else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.api", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="parts to run")
    parser.add_argument("--streams", type=int, default=1000, help="number of concurrent streams")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for which streams are measured")
    parser.add_argument(
        "--freeze-seconds", type=float, default=60.0, help="time for which every tenth reader stops reading"
    )
    parser.add_argument("--samples", type=int, default=200, help="number of first bytes to measure")
    parser.add_argument(
        "--conversations", type=int, default=10_000, help="number of conversations in the store, of ten messages each"
    )
    parser.add_argument("--requests", type=int, default=20_000, help="number of requests of the fuzzer")
    parser.add_argument("--examples", type=int, default=50, help="examples of schemathesis per operation")
    parser.add_argument("--seed", type=int, default=1, help="seed of the fuzzers")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args(argv)


async def _measure(chosen: argparse.Namespace, root: Path) -> ApiReport:
    report = ApiReport(date.today().isoformat(), describe_machine())
    if "first-byte" in chosen.only:
        report = replace(report, first_byte=await measure_first_byte(chosen.samples, root))
    if "streams" in chosen.only:
        plans = (
            StreamsPlan("chat completions", chosen.streams, chosen.seconds),
            StreamsPlan("runs", chosen.streams, chosen.seconds),
            StreamsPlan("runs", chosen.streams, chosen.freeze_seconds, chosen.streams // FROZEN_SHARE),
        )
        report = replace(report, streams=tuple([await measure_streams(plan, root) for plan in plans]))
    if "store" in chosen.only:
        report = replace(report, store=await measure_store(chosen.conversations, root))
    if "fuzz" in chosen.only:
        ours = await fuzz(chosen.requests, chosen.seed, root)
        report = replace(report, fuzz=(ours, await fuzz_with_schemathesis(chosen.examples, chosen.seed, root)))
    return report


if __name__ == "__main__":
    raise SystemExit(main())
