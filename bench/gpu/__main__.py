"""Correctness and speed of a GPU, with a random-weight openPangu 7B compared with the oracle, in ten minutes.

    python -m bench.gpu [--only equality,copies] [--small] [--device cpu] [--out bench/results]

Needs torch, numpy and safetensors, no model and no server. Each phase is a separate process with a time limit, and
its figures are written at once. A phase that fails or hangs therefore costs only its own figures.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import torch

from bench.gpu.report import table
from bench.machine import describe_machine
from bench.report import RESULTS, write_results

QUICK: Final = Path("build/bench-quick")
LIMITS: Final = {"equality": 120, "copies": 90, "returning": 120, "decode": 150, "kernel": 90}
"""Seconds of each phase; all together less than ten minutes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write gpu.json and gpu.md; 1 if a phase failed or missed its target."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(LIMITS), help="phases to run, separated by commas")
    parser.add_argument(
        "--small", action="store_true", help="use a tiny model, which only checks that the script works"
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--out", type=Path, help="output folder; default bench/results, or build/bench-quick")
    parser.add_argument("--phase", choices=LIMITS, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.phase:
        return _measure(arguments)
    out: Path = arguments.out or (QUICK if arguments.small else RESULTS)
    phases: dict[str, Any] = {}
    model = "a tiny model, whose figures mean nothing" if arguments.small else "openPangu 7B, random weights, bfloat16"
    report = {"measured_on": time.strftime("%Y-%m-%d"), "machine": _machine(arguments.device), "model": model}
    report["phases"] = phases
    for name in arguments.only.split(","):
        phases[name] = _in_a_process(name, arguments)
        write_results(out, "gpu", report, table(report))
    print(table(report))
    return 0 if all("failed" not in found and found.get("met", True) for found in phases.values()) else 1


def _measure(arguments: argparse.Namespace) -> int:
    """Measure one phase in this process, and print its figures on the last line."""
    from bench.gpu.kernel import kernel
    from bench.gpu.phases import PHASES
    from bench.gpu.rig import SMALL, Scale

    scale = replace(SMALL if arguments.small else Scale(), device=arguments.device)
    print(json.dumps(({**PHASES, "kernel": kernel})[arguments.phase](scale)))
    return 0


def _in_a_process(name: str, arguments: argparse.Namespace) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "bench.gpu", "--phase", name, "--device", arguments.device]
    print(f"==> {name}, at most {LIMITS[name]} s", flush=True)
    began = time.perf_counter()
    try:
        done = subprocess.run(
            command + ["--small"] * arguments.small, capture_output=True, text=True, timeout=LIMITS[name], check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {LIMITS[name]} s"}
    print(f"    {time.perf_counter() - began:.0f} s", flush=True)
    if done.returncode:
        print(done.stderr[-3000:], flush=True)
        return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _machine(device: str) -> Mapping[str, Any]:
    found = asdict(describe_machine())
    if device == "cuda" and torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        memory = round(properties.total_memory / 2**30, 1)
        found |= {"gpu": properties.name, "gpu_memory_gib": memory, "cuda": str(torch.version.cuda)}
    return found


if __name__ == "__main__":
    raise SystemExit(main())
