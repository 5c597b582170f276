"""`python -m bench.soak`: half an hour of many chats on small tiers while Redis breaks in a new way every 10 s.

The soak passes under six conditions. No client receives a wrong or broken answer. The server's memory stays where it
was after five minutes. The self-checks of the block owners at the end are clean. The disk keeps its bound, with files
and descriptors that stay level. No promise is broken. The log contains no error. Linux only.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.ending import run_to_end
from bench.report import RESULTS, show_results
from bench.server import ServerFailedError
from bench.soak.plan import SoakPlan
from bench.soak.report import content, passed, to_markdown
from bench.soak.soak import Soak


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, print, and write soak.json and soak.md. Return 0, or 1 if a target is missed."""
    arguments = _parse(argv)
    plan = SoakPlan(seconds=arguments.minutes * 60, seed=arguments.seed, chats=arguments.chats)
    try:
        with tempfile.TemporaryDirectory(prefix="ebb-soak-", ignore_cleanup_errors=True) as root:
            report = run_to_end(Soak(plan, Path(root)).run())
    except ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    show_results(arguments.out, "soak", content(report), to_markdown(report))
    return 0 if passed(report) else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1, help="seed of the questions, their times and the faults")
    parser.add_argument("--chats", type=int, default=64)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    if arguments.minutes < 1:
        parser.error("--minutes must be at least 1: a shorter run shows too little")
    return arguments


if __name__ == "__main__":
    raise SystemExit(main())
