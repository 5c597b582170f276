"""`python -m bench.neighbour`: what a hostile tenant costs a well-behaved one.

A few chats of one tenant run alongside another tenant, which is hostile in every second window: it floods, sends long
prompts, asks for sixteen answers, constrains answers by costly forms, never reads its streams, searches its own
repetitive messages, imports and deletes. In the other windows an ordinary tenant takes its place. Linux.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.ending import run_to_end
from bench.neighbour.guests import ATTACKS
from bench.neighbour.plan import NeighbourPlan
from bench.neighbour.report import passed, to_markdown
from bench.neighbour.run import NeighbourRun
from bench.report import RESULTS, show_results
from bench.server import ServerFailedError


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write neighbour.json and neighbour.md; return 0, or 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.neighbour", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="total length of the hostile windows")
    parser.add_argument("--window", type=float, default=150.0, help="seconds per window")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--attacks", nargs="+", default=(), choices=ATTACKS, help="attacks to run (default: all)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    seconds, attacks = arguments.minutes * 60, tuple(arguments.attacks)
    plan = NeighbourPlan(seconds, arguments.seed, window_seconds=arguments.window, attacks=attacks)
    try:
        with tempfile.TemporaryDirectory(prefix="ebb-neighbour-", ignore_cleanup_errors=True) as root:
            report = run_to_end(NeighbourRun(plan, Path(root)).run())
    except ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    show_results(arguments.out, "neighbour", asdict(report), to_markdown(report))
    return 0 if passed(report) else 1


if __name__ == "__main__":
    raise SystemExit(main())
