"""`python -m bench.peers`: Ebb, vLLM and llama.cpp on the same machine with the same weights, measured in rotation."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from tokenizers import Tokenizer

from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.large_model import LARGE_MODELS, kv_bytes_of_token, large_model
from bench.machine import describe_machine
from bench.machine_limits import measure_limits
from bench.peers import arms, llama_cpp, vllm_cpu
from bench.peers.arms import Arm, Setup
from bench.peers.contest import Contest
from bench.peers.limits import Reads, Sizes, reads_of, sizes_of
from bench.peers.plan import PeersPlan, large_plan, quick_plan
from bench.peers.points import points
from bench.peers.prompts import PromptMaker
from bench.peers.record import Record
from bench.peers.report import PeersReport, content, resumed, to_markdown
from bench.peers.selection import GGUF_KINDS, LARGE_MODEL, Selection, select
from bench.peers.sole import BusyError, sole_run
from bench.peers.workshop import PreparationError
from bench.report import RESULTS, write_results
from bench.server import ServerFailedError
from engine.cpu.instruction_set import choose_instruction_set
from engine.worker.host_resources import usable_cores
from models.download.resolve import DEFAULT_MODEL, resolve_model

SERVING = "serving"
PARTS = {"turns": (Setup.TURNS_SCARCE, Setup.TURNS_IN_MEMORY), "long": (Setup.LONG,), SERVING: (Setup.SERVING,)}
"""Parts of a run and their setups.

The parts run one after another, because the servers of both together need more memory than most machines have. The part
that measures starts is last: by then, servers have compiled and packed what they keep.
"""
QUICK_RESULTS = Path("build/bench-quick")


def main(argv: Sequence[str] | None = None) -> int:
    """Prepare the peers, run, and write peers.json and peers.md after every round.

    The files of a model other than the default one are called peers_MODEL.

    Return the exit status: 0 whatever was measured, 1 if a peer could not be prepared, a server failed or another
    benchmark runs.
    """
    arguments = _parse(argv)
    large = arguments.model in LARGE_MODELS
    plan = quick_plan() if arguments.quick else PeersPlan()
    if large:
        kv_bytes = kv_bytes_of_token(arguments.model)
        plan = replace(plan, kv_bytes_of_token=kv_bytes) if arguments.quick else large_plan(kv_bytes)
    arguments.only = select(arguments.only, LARGE_MODEL if large else None)
    name = f"peers_{arguments.model}" if large else "peers"
    plan = replace(plan, rounds=arguments.rounds or plan.rounds)
    folder = arguments.out or (QUICK_RESULTS if arguments.quick else RESULTS)
    try:
        record = resumed((folder / f"{name}.json").read_text(), plan) if arguments.resume else Record()
    except (OSError, ValueError) as error:
        print(f"Nothing to resume: {error}", file=sys.stderr)
        return 1
    try:
        with (
            sole_run(arguments.cache_dir / "peers"),
            tempfile.TemporaryDirectory(prefix="ebb-peers-", ignore_cleanup_errors=True) as root,
        ):
            model = resolve_model(DEFAULT_MODEL, arguments.cache_dir, print)
            if large:
                model = large_model(arguments.model, model, arguments.cache_dir / "peers")
            files = _files(arguments, model)
            entered = _arms(arguments, plan, model, files, Path(root))
            report = _report(entered, plan, record, arguments.model, model, files)
            logs = arguments.cache_dir / "peers" / "logs"
            logs.mkdir(parents=True, exist_ok=True)
            run = _Run(arguments.only, folder / name, model, report)
            run_to_end(run.measure(entered, logs), loop_factory=uvloop.new_event_loop)
    except (BusyError, PreparationError, ServerFailedError) as error:
        print(error, file=sys.stderr)
        return 1
    for target in report.targets:
        if target.value is not None:
            met = "met   " if target.met else "MISSED"
            print(f"{met}  {target.claim}: {target.value:.2f} for {target.bound:g}", file=sys.stderr)
    return 0


class _Run:
    """One run, which writes its results after every round."""

    def __init__(self, selection: Selection, base: Path, model: Path, report: PeersReport) -> None:
        self._selection = selection
        self._base = base
        self._report = report
        self._make = PromptMaker(Tokenizer.from_file(str(model / "tokenizer.json")))
        self._began = time.perf_counter()

    async def measure(self, entered: Sequence[Arm], logs: Path) -> None:
        """Run the rounds that the record lacks. Raise ServerFailedError.

        logs: folder for the output of the servers.
        """
        plan, record = self._report.plan, self._report.record
        found = points(plan, self._make, self._selection.suites)
        for part, setups in PARTS.items():
            own = [point for point in found if point.setup in setups]
            rounds = [number for number in range(plan.rounds) if part == SERVING or plan.measures_turns(number)]
            left = [number for number in rounds if number >= record.rounds_done.get(part, 0)]
            if not own or not left:
                continue
            contest = Contest(entered, own, self._make, record, logs, self._say)
            async with contest.started():
                for number in left:
                    await contest.measure_round(number, turns=True)
                    record.rounds_done[part] = number + 1
                    self._write()

    def _say(self, text: str) -> None:
        print(f"[{time.perf_counter() - self._began:5.0f} s] {text}", file=sys.stderr, flush=True)

    def _write(self) -> None:
        folder, name = self._base.parent, self._base.name
        write_results(folder, name, content(self._report), to_markdown(self._report))


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="run a small size, which only checks that it works")
    parser.add_argument(
        "--rounds", type=int, help="number of rounds; default 7, 3 for larger models, or 1 with --quick"
    )
    parser.add_argument("--only", type=_names, default=(), metavar="NAME,...", help="arms, peers or suites to run")
    parser.add_argument(
        "--model", choices=(DEFAULT_MODEL, *LARGE_MODELS), default=DEFAULT_MODEL, help="weights to serve"
    )
    parser.add_argument("--resume", action="store_true", help="continue after the last complete round of the results")
    parser.add_argument("--out", type=Path, help=f"output folder; default bench/results, or {QUICK_RESULTS}")
    parser.add_argument(
        "--cache-dir",
        type=Path,
        default=load_settings({}).cache_dir,
        help="folder of the models, and of the peers below it",
    )
    parser.add_argument("--torch-cpu-index", default="https://download.pytorch.org/whl/cpu", metavar="URL")
    return parser.parse_args(argv)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    try:
        select(names)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return names


def _files(arguments: argparse.Namespace, model: Path) -> llama_cpp.LlamaCpp | None:
    """Build llama.cpp and its files, if an arm needs them. Raise PreparationError."""
    selection: Selection = arguments.only
    if not selection.quantizations and not selection.weights("llama"):
        return None
    return llama_cpp.prepare(arguments.cache_dir / "peers", model, selection.quantizations, usable_cores())


def _arms(
    arguments: argparse.Namespace, plan: PeersPlan, model: Path, built: llama_cpp.LlamaCpp | None, root: Path
) -> list[Arm]:
    """Install the selected peers and return their arms. Raise PreparationError."""
    selection: Selection = arguments.only
    place = arguments.cache_dir / "peers"
    found = []
    for weights in selection.weights("ebb"):
        kind = weights.partition("-")[0]
        file = built.weights[kind] if built is not None and kind in GGUF_KINDS else model
        found.append(arms.ebb(weights, file, root, plan))
    if selection.weights("vllm"):
        found.append(arms.vllm(vllm_cpu.prepare(place, arguments.torch_cpu_index), model, plan))
    if built is not None:
        found += [arms.llama(built, kind, plan, usable_cores()) for kind in selection.weights("llama")]
    return found


def _report(
    entered: Sequence[Arm],
    plan: PeersPlan,
    record: Record,
    model: str,
    folder: Path,
    built: llama_cpp.LlamaCpp | None,
) -> PeersReport:
    sizes = sizes_of(folder)
    return PeersReport(
        measured_on=datetime.now(UTC).date().isoformat(),
        machine=describe_machine(),
        versions={"vllm-cpu": vllm_cpu.VERSION, "llama-cpp-python": llama_cpp.VERSION},
        kv_megabytes={arm.name: arm.launches[Setup.SERVING].kv_bytes / 1e6 for arm in entered},
        model=model,
        sizes=sizes,
        limits=measure_limits(choose_instruction_set("auto"), threads=usable_cores()),
        reads={arm.name: _reads(arm, sizes, built) for arm in entered},
        plan=plan,
        record=record,
    )


def _reads(arm: Arm, sizes: Sizes, built: llama_cpp.LlamaCpp | None) -> Reads:
    kind = arm.weights.partition("-")[0]
    file = built.weights[kind] if built is not None and kind in GGUF_KINDS else None
    return reads_of(arm.peer, kind, sizes, file)


if __name__ == "__main__":
    sys.exit(main())
