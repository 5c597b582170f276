"""`python -m bench.weights_memory`: memory of loaded weights over the size of their GGUF file, for each type of blocks.

Writes random Llamas, loads each in a separate process, and prints a table. Memory is what only this process has:
anonymous pages, huge ones in whole, and pages of files that nothing else maps.
"""

import argparse
import gc
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.worker.worker import Worker
from models.gguf_import.convert import convert_gguf
from models.weights.block_types import BLOCK_TYPES
from tests.tiny_gguf import MIXES, write_block_gguf

TYPES: Final[Mapping[str, Mapping[str, str]]] = {type_: {"": type_} for type_ in BLOCK_TYPES} | {**MIXES}
SHAPE: Final = {"hidden": 2048, "intermediate": 5632, "heads": 32, "kv_heads": 8}
LIMITS: Final = {"Q8_0": 1.15, "Q4_0": 1.15, "IQ4_NL": 1.15, "Q4_1": 1.15, "Q4_K": 1.15, "Q4_K_M": 1.15}
"""Targets of the types with 4 and 8 bits."""
OTHER_LIMIT: Final = 1.4
"""Target of all other types."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.weights_memory", description=__doc__)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--types", nargs="+", choices=TYPES, default=list(TYPES), help="measure these types alone")
    parser.add_argument("--file", type=Path, action="append", default=[], help="measure this GGUF file instead")
    parser.add_argument("--load", type=Path, nargs=2, help="load two converted models and print the second one's bytes")
    arguments = parser.parse_args(argv)
    if arguments.load is not None:
        print(json.dumps(_loaded_bytes(*arguments.load)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        small = _convert(write_block_gguf(root / "small.gguf", TYPES["Q4_K_M"]), root)
        for file in arguments.file:
            _measure(file.name, file, root, small)
        if arguments.file:
            return 0
        too_large = 0
        for name in arguments.types:
            file = write_block_gguf(root / f"{name}.gguf", TYPES[name], layers=arguments.layers, shape=SHAPE)
            too_large += _measure(name, file, root, small) > LIMITS.get(name, OTHER_LIMIT)
    return min(too_large, 1)


def _measure(name: str, file: Path, root: Path, small: Path) -> float:
    """Print and return the memory of a file's weights over its size. small: a model to load first."""
    folder = _convert(file, root)
    command = [sys.executable, "-m", "bench.weights_memory", "--load", str(small), str(folder)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shutil.rmtree(folder)
    ratio = float(found / file.stat().st_size)
    print(f"{name:7} {file.stat().st_size / 1e6:6.0f} MB  {ratio:.3f}", flush=True)
    return ratio


def _convert(file: Path, root: Path) -> Path:
    folder = root / f"{file.stem} converted"
    folder.mkdir()
    convert_gguf(file, folder, lambda _: None, keep_blocks=True)
    return folder


def _loaded_bytes(small: Path, folder: Path) -> int:
    """Load a model. The small one comes first, so that modules, threads and kernels are not counted."""
    workers = [_worker(small)]
    before = _private_bytes()
    workers.append(_worker(folder))
    gc.collect()
    return _private_bytes() - before


def _worker(folder: Path) -> Worker:
    worker = Worker(
        EngineConfig(
            model=ModelConfig(path=folder, name="model"),
            cache=CacheConfig(tiers=None, secret=b""),
            device=DeviceConfig(cache_dir=load_settings({}).cache_dir, packed_size=0),
        )
    )
    worker.load()
    return worker


def _private_bytes() -> int:
    """Return the bytes of pages that only this process maps."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


if __name__ == "__main__":
    raise SystemExit(main())
