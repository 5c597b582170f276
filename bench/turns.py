"""`python -m bench.turns`: savings of the tiers in continued chats, their cost, and whether they change an answer."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.conversations import measure_conversations
from bench.ending import run_to_end
from bench.exactness import ExactnessResult, measure_exactness
from bench.machine import describe_machine
from bench.plan import Plan, full_plan, quick_plan
from bench.plot import draw
from bench.report import RESULTS, write_results
from bench.returning import measure_returning
from bench.server import EBB_SERVE, ServerFailedError
from bench.step_time import measure_step_time
from bench.turns_report import TurnsReport, content, targets
from bench.turns_tables import to_markdown
from bench.workbench import Workbench

SECTIONS = ("conversations", "returning", "exactness", "steps")


def main(argv: Sequence[str] | None = None, command: Sequence[str] = EBB_SERVE) -> int:
    """Run the benchmark, and write turns.json, turns.md and turns.png.

    Return the exit status: 0 whatever was measured, 1 if a server failed.
    """
    arguments = _parse(argv)
    make_plan = quick_plan if arguments.quick else full_plan
    plan = make_plan(arguments.dtype, shared_system=arguments.shared_system)
    try:
        # A companion Redis may still be saving its snapshot into its state directory, which is no reason to fail.
        with tempfile.TemporaryDirectory(prefix="ebb-bench-", ignore_cleanup_errors=True) as root:
            report = run_to_end(_measure(plan, arguments.sections, Path(root), command))
    except ServerFailedError as error:
        print(error, file=sys.stderr)
        return 1
    _write(report, arguments.out or (Path("build/bench-quick") if arguments.quick else RESULTS))
    for target in targets(report):
        print(f"{'met   ' if target.met else 'MISSED'}  {target.claim}: {target.value}", file=sys.stderr)
    return 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.turns", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run a small size, which only checks that it works")
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--shared-system", action="store_true", help="begin all chats with the same system prompt")
    parser.add_argument(
        "--sections", type=_sections, default=SECTIONS, help="sections to run, of " + ",".join(SECTIONS)
    )
    parser.add_argument("--out", type=Path, help="output folder; default bench/results, or build/bench-quick")
    return parser.parse_args(argv)


def _sections(text: str) -> tuple[str, ...]:
    asked = tuple(text.split(","))
    if unknown := set(asked) - set(SECTIONS):
        raise argparse.ArgumentTypeError(
            f"unknown sections: {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}"
        )
    return asked


async def _measure(plan: Plan, sections: Sequence[str], root: Path, command: Sequence[str]) -> TurnsReport:
    bench = Workbench(plan, root, command)
    return TurnsReport(
        measured_on=datetime.now(UTC).date().isoformat(),
        machine=describe_machine(),
        plan=plan,
        conversations=await measure_conversations(bench) if "conversations" in sections else None,
        returning=await measure_returning(bench) if "returning" in sections else None,
        exactness=await _exactness(bench) if "exactness" in sections else (),
        step_time=await measure_step_time(bench) if "steps" in sections else None,
    )


async def _exactness(bench: Workbench) -> tuple[ExactnessResult, ...]:
    """Measure in the plan's dtype and in float32, which also promises equality with recomputed answers."""
    found = [await measure_exactness(bench)]
    if bench.plan.dtype != "float32":
        small = replace(bench.plan, dtype="float32", history_words=min(bench.plan.history_words, 600), exact_prompts=3)
        found.append(await measure_exactness(bench.with_plan(small, "float32")))
    return tuple(found)


def _write(report: TurnsReport, folder: Path) -> None:
    write_results(folder, "turns", content(report), to_markdown(report))
    draw(report, folder / "turns.png")


if __name__ == "__main__":
    sys.exit(main())
