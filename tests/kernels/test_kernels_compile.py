"""The kernels compile for Ampere and Hopper, without a GPU, within the shared memory of the smaller cards."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SHARED_LIMIT = 99 << 10
"""Bytes per program of GPUs with compute capability 8.6 and 8.9, the least of all that are supported."""

EVERY_RULE = {"WINDOW": 128, "CHUNK": 8192, "SOFTCAP": 50.0, "SINKS": True}
SHAPES = [
    ("bf16", 4, 128, 64, {}),
    ("bf16", 2, 128, 64, {}),
    ("bf16", 7, 64, 128, {}),
    ("bf16", 1, 96, 64, {}),
    ("bf16", 1, 16, 16, {}),
    ("bf16", 32, 256, 64, EVERY_RULE),
    ("bf16", 8, 64, 64, EVERY_RULE),
    ("fp32", 4, 128, 64, {}),
    ("fp32", 32, 256, 64, EVERY_RULE),
]

VOCABULARIES = [500, 151_936, 262_144]


@pytest.mark.parametrize("capability", [80, 90])
def test_every_kernel_compiles_and_fits_shared_memory(capability: int, tmp_path: Path) -> None:
    """In a separate process: here kernels are interpreted."""
    asked = json.dumps([capability, SHAPES, VOCABULARIES])
    script = str(Path(__file__).parent / "compile_kernels.py")
    environment = {"PYTHONPATH": ":".join([str(ROOT), *sys.path]), "TRITON_CACHE_DIR": str(tmp_path), "PATH": ""}
    command = [sys.executable, script, asked]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    shared = json.loads(done.stdout)
    assert len(shared) == 4 * len(SHAPES) + 7 * len(VOCABULARIES)
    assert {name: size for name, size in shared.items() if size > SHARED_LIMIT} == {}
