"""`python -m bench.kept_weights`: what a start costs that maps packed weights, over one that packs them.

Writes random Llamas, and loads each in separate processes, in turns: with the file of packed weights and without. Cold
loads begin without the model's files and the pack in the page cache, for which TMPDIR has to be on a disk. Memory is
that of two processes that hold the weights at the same time, over two without the file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from bench.large_model import LARGE_MODELS
from bench.machine import describe_machine
from bench.random_llama import write_random_llama
from bench.report import RESULTS, show_results
from bench.report_tables import table
from bench.stats import median
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.pack_folder import PackFolder
from engine.worker.worker import Worker
from models.download.resolve import resolve_model
from models.gguf_import.convert import convert_gguf
from tests.tiny_gguf import write_block_gguf

BLOCKS: Final = "Q4_K"
FORMATS: Final = {"bfloat16": "none", "int4": "int4", BLOCKS: "none"}
"""Formats of the weights, and the value of `--quantization` for each."""
WRITE_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Load:
    """One load. cpu: seconds of CPU time. memory: bytes of the process's share of its pages."""

    seconds: float
    cpu: float
    memory: int


@dataclass(frozen=True, slots=True)
class Row:
    """Loads of one format that map, over those that pack: medians of the rounds."""

    weights: str
    cpu_warm: float
    cpu_cold: float
    time_warm: float
    time_cold: float
    memory: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write kept_weights.json and kept_weights.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.kept_weights", description=__doc__)
    parser.add_argument("--layers", type=int, default=22, help="of a Llama with the matrices of the one with 1.1 B")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--load", nargs=4, help="load a model: its folder, the cache directory, quantization, a bound")
    arguments = parser.parse_args(argv)
    if arguments.load is not None:
        _hold(*arguments.load)
        return 0
    rows = []
    for weights in FORMATS:
        with tempfile.TemporaryDirectory(prefix="ebb-kept-") as root:
            rows.append(_measure(weights, Path(root), arguments.layers, arguments.rounds))
            print(rows[-1], flush=True)
    cells = [(each.weights, *(f"{value:.2f}" for value in list(asdict(each).values())[1:])) for each in rows]
    head = ("weights", "CPU time, warm", "CPU time, cold", "time, warm", "time, cold", "memory of two processes")
    result = {"machine": asdict(describe_machine()), "layers": arguments.layers, "rows": [asdict(row) for row in rows]}
    show_results(arguments.out, "kept_weights", result, f"{table(head, cells)}\n")
    return 0


def _measure(weights: str, root: Path, layers: int, rounds: int) -> Row:
    model, cache = _model(weights, root, layers), root / "cache"
    cache.mkdir()
    own = load_settings({}).cache_dir
    (own / "kernels").mkdir(parents=True, exist_ok=True)
    (cache / "kernels").symlink_to(own / "kernels")
    packs = PackFolder(cache)
    # Not counted, since it may compile the kernels.
    _load(model, cache, weights, keeps=False)
    loads: dict[tuple[bool, bool], list[Load]] = {}
    for _ in range(rounds):
        for is_cold in (False, True):
            packs.clear()
            for is_kept in (False, True):
                if is_cold:
                    _forget(model, packs.path)
                loads.setdefault((is_kept, is_cold), []).append(_load(model, cache, weights, keeps=True))

    def over(name: str, *, is_cold: bool) -> float:
        with_file, without = (
            median([getattr(load, name) for load in loads[is_kept, is_cold]]) for is_kept in (True, False)
        )
        return with_file / without

    return Row(
        weights=weights,
        cpu_warm=over("cpu", is_cold=False),
        cpu_cold=over("cpu", is_cold=True),
        time_warm=over("seconds", is_cold=False),
        time_cold=over("seconds", is_cold=True),
        memory=_two(model, cache, weights, keeps=True) / _two(model, cache, weights, keeps=False),
    )


def _model(weights: str, root: Path, layers: int) -> Path:
    folder = root / "model"
    folder.mkdir()
    shape = LARGE_MODELS["llama-1.1b"]
    if weights == BLOCKS:
        sizes = {"hidden": 2048, "intermediate": 5632, "heads": 32, "kv_heads": 4}
        file = write_block_gguf(root / "model.gguf", {"": BLOCKS}, layers=layers, shape=sizes)
        convert_gguf(file, folder, lambda _: None, keep_blocks=True)
        file.unlink()
    else:
        source = resolve_model("smollm2-135m-instruct", load_settings({}).cache_dir, print)
        write_random_llama(source, folder, {**shape, "num_hidden_layers": layers}, only_known_tokens=True)
    return folder


def _forget(*folders: Path) -> None:
    """Take all files out of the page cache."""
    for file in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


@contextmanager
def _holding(model: Path, cache: Path, weights: str, *, keeps: bool) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that loads the model and holds it until its input ends."""
    bound = str(-1 if keeps else 0)
    command = (sys.executable, "-m", "bench.kept_weights", "--load", str(model), str(cache), FORMATS[weights], bound)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def _reply(process: "subprocess.Popen[str]") -> Load:
    """Ask a process for its load, with its memory of now."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    if not (line := process.stdout.readline()):
        raise SystemExit("a load failed: the reason is above")
    return Load(**json.loads(line))


def _load(model: Path, cache: Path, weights: str, *, keeps: bool) -> Load:
    with _holding(model, cache, weights, keeps=keeps) as process:
        return _reply(process)


def _two(model: Path, cache: Path, weights: str, *, keeps: bool) -> int:
    """Return the memory of two processes that hold the weights at the same time."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_holding(model, cache, weights, keeps=keeps)) for _ in range(2)]
        for process in processes:
            _reply(process)
        return sum(_reply(process).memory for process in processes)


def _hold(model: str, cache: str, quantization: str, bound: str) -> None:
    """Load a model, and write the load for each line of the input."""
    worker = Worker(
        EngineConfig(
            model=ModelConfig(path=Path(model), name="random", quantization=quantization),
            cache=CacheConfig(tiers=None, secret=b""),
            device=DeviceConfig(cache_dir=Path(cache), packed_size=0 if bound == "0" else None),
        )
    )
    began, cpu = time.perf_counter(), time.process_time()
    worker.load()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    packs, deadline = PackFolder(Path(cache)), time.monotonic() + WRITE_SECONDS
    while bound != "0" and not packs.packs():
        if time.monotonic() > deadline:
            raise SystemExit("the weights were not kept: the disk has no room for them")
        time.sleep(0.1)
    for _ in sys.stdin:
        print(json.dumps(asdict(Load(seconds, cpu, _memory()))), flush=True)
    worker.close()


def _memory() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    raise SystemExit(main())
