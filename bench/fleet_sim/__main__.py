"""`python -m bench.fleet_sim`: the router of the product over simulated replicas.

    python -m bench.fleet_sim [--parts scale stale loss roles] [--page]

Parts: `scale` (1,000 replicas, a million conversations), `stale` (reports of 0.1 to 5 s), `loss` (of a gateway) and
`roles` (prompts and answers on different replicas). These have simulated times, and need no quiet machine. `decisions`
(time and memory of a decision) and `calibration` (against four real replicas) do. Each part prints its tables, and
replaces its own results in bench/results/fleet_sim.json, from which `--page`, or any part, makes
docs/reference/fleet-simulation.md.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from bench.fleet_sim import decision, scenarios
from bench.fleet_sim.page import page, section
from bench.machine import describe_machine
from bench.report import to_json
from bench.rounding import rounded

ROOT: Final = Path(__file__).parent.parent.parent
RESULTS: Final = ROOT / "bench/results/fleet_sim.json"
PAGE: Final = ROOT / "docs/reference/fleet-simulation.md"
PREFILL_SHARES: Final = (0.4, 0.5, 0.6, 0.7)
SIMULATED: Final = ("scale", "stale", "loss", "roles")
REAL: Final = ("decisions", "calibration")


def main() -> None:
    """Run the parts, and store their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=(*SIMULATED, *REAL), default=list(SIMULATED))
    parser.add_argument("--page", action="store_true", help="only make the page from the stored results")
    parser.add_argument("--replicas", type=int, default=200, help="of stale, loss and roles")
    parser.add_argument("--gateways", type=int, default=4)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="in which the conversations of stale and loss begin"
    )
    parser.add_argument("--scale-replicas", type=int, default=1_000)
    parser.add_argument("--scale-conversations", type=int, default=1_000_000)
    parser.add_argument("--cache-dir", type=Path, default=Path.home() / ".cache/ebb")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    results: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for part in [] if arguments.page else arguments.parts:
        results[part] = rounded(PARTS[part](arguments))
        if part in REAL:
            results["machine"] = asdict(describe_machine())
        arguments.out.write_text(to_json(results), encoding="utf-8")
        print(section(part, results[part]), flush=True)
    if arguments.out == RESULTS:
        PAGE.write_text(page(results))


def _scale(arguments: argparse.Namespace) -> object:
    replicas, count = arguments.scale_replicas, arguments.scale_conversations
    asked = scenarios.chats_of(replicas, count / (scenarios.EACH_SECOND * replicas))
    shape = scenarios.shape_of(replicas, 2)
    return asdict(scenarios.run(shape, asked, scenarios.PREDICTED, say=lambda text: print(text, flush=True))[0])


def _stale(arguments: argparse.Namespace) -> object:
    def say(row: scenarios.Row) -> None:
        print(row, flush=True)

    return [asdict(row) for row in scenarios.stale_rows(arguments.replicas, arguments.gateways, arguments.seconds, say)]


def _loss(arguments: argparse.Namespace) -> object:
    return asdict(scenarios.gateway_loss(arguments.replicas, arguments.gateways, arguments.seconds))


def _roles(arguments: argparse.Namespace) -> object:
    return [
        asdict(row)
        for row in scenarios.roles_rows(arguments.replicas, arguments.gateways, arguments.seconds, PREFILL_SHARES)
    ]


def _decisions(_: argparse.Namespace) -> object:
    return [asdict(decision.measure(replicas)) for replicas in (4, 100, 1_000)]


def _calibration(arguments: argparse.Namespace) -> object:
    from bench.fleet_sim.calibration import calibrate

    return to_builtins(calibrate(24, 6, 4.0, arguments.cache_dir))


PARTS: Final[dict[str, Callable[[argparse.Namespace], object]]] = {
    "scale": _scale,
    "stale": _stale,
    "loss": _loss,
    "roles": _roles,
    "decisions": _decisions,
    "calibration": _calibration,
}

if __name__ == "__main__":
    main()
