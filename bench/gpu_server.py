"""`python -m bench.gpu_server`: speed of `ebb serve` on a GPU as its clients see it, and the parts of its steps.

The model has random weights and the sizes of a Qwen3 of 4 billion weights. The load is that of `ebb bench`, against a
server with its tiers, and that of `ebb profile`.
"""

import argparse
import asyncio
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final

import torch

from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.large_model import LARGE_MODELS
from bench.machine import describe_machine
from bench.random_llama import write_random_llama
from bench.report import RESULTS, show_results
from bench.server import EBB_SERVE, EbbServer, ServerSettings
from models.download.resolve import DEFAULT_MODEL, resolve_model

QWEN3_4B: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **LARGE_MODELS["qwen3-0.5b"],
        "hidden_size": 2560,
        "intermediate_size": 9728,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
    }
)
SMALL: Final[Mapping[str, Any]] = MappingProxyType(
    {
        **QWEN3_4B,
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    }
)


async def measure_server(flags: Sequence[str], streams: str, rounds: int, root: Path) -> Mapping[str, Any]:
    """Return what `ebb bench` measures of a server with `flags`, whose state is in `root`."""
    file = root / "bench.json"
    async with EbbServer(ServerSettings("gpu", tuple(flags)), root / "state") as server:
        load = ("--url", str(server.base_url), "--streams", streams, "--rounds", str(rounds), "--json", str(file))
        bench = await asyncio.create_subprocess_exec(EBB_SERVE[0], "bench", *load)
        if await bench.wait():
            raise SystemExit(f"ebb bench failed; its reason is above, and the server's log is {server.log}")
    found: Mapping[str, Any] = json.loads(file.read_text())
    return found


def profile(flags: Sequence[str], streams: int, root: Path) -> str:
    """Return the table of `ebb profile`."""
    output = ("--streams", str(streams), "--output", str(root / "profile.json"))
    done = subprocess.run([EBB_SERVE[0], "profile", *flags, *output], capture_output=True, text=True, check=True)
    return done.stdout


def table(report: Mapping[str, Any]) -> str:
    """Format the figures as a Markdown page."""
    machine = report["machine"]
    lines = [
        "# A server on a GPU",
        "",
        f"`make bench-gpu-server`, {report['measured_on']}: {machine.get('gpu', 'no GPU')}, {machine['cpu']}, "
        f"torch {machine['versions']['torch']}; {report['model']}, random weights, bfloat16.",
        "",
        "| streams | tokens/s | first token, p50 | first token cached, p50 | between tokens, p50 | p99 |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for level in report["server"]["levels"]:
        cold, cached = (level[name]["p50"] for name in ("ttft_cold_ms", "ttft_cached_ms"))
        gaps = level["itl_ms"]
        lines.append(
            f"| {level['streams']} | {level['tokens_per_second']:,.0f} | {cold:.1f} ms | {cached:.1f} ms "
            f"| {gaps['p50']:.2f} ms | {gaps['p99']:.2f} ms |"
        )
    for streams, text in report["profiles"].items():
        lines += ["", f"`ebb profile --streams {streams}`:", "", "```", text.strip(), "```"]
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write gpu_server.json and gpu_server.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_server", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--streams", default="1,8,32,128", help="numbers of concurrent answers")
    parser.add_argument("--profiles", type=int, nargs="*", default=[1, 32], help="numbers of streams that are profiled")
    parser.add_argument("--rounds", type=int, default=3, help="measurements for each number of streams")
    parser.add_argument("--small", action="store_true", help="use a tiny model, which only checks that it works")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    source = resolve_model(DEFAULT_MODEL, load_settings({}).cache_dir, print)
    machine: dict[str, Any] = asdict(describe_machine())
    if arguments.device == "cuda":
        machine["gpu"] = torch.cuda.get_device_name()
    with TemporaryDirectory(prefix="ebb-gpu-server-") as parent:
        root = Path(parent)
        model = root / "model"
        model.mkdir()
        sizes = SMALL if arguments.small else QWEN3_4B
        write_random_llama(source, model, sizes, only_known_tokens=True, device=arguments.device)
        flags = ("--model", str(model), "--device", arguments.device, "--max-num-seqs", "128")
        server = run_to_end(measure_server(flags, arguments.streams, arguments.rounds, root))
        report = {
            "measured_on": time.strftime("%Y-%m-%d"),
            "machine": machine,
            "model": "a tiny Qwen3" if arguments.small else "Qwen3 4B",
            "server": server,
            "profiles": {str(streams): profile(flags, streams, root) for streams in arguments.profiles},
        }
    show_results(arguments.out, "gpu_server", report, table(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
