"""Plain LMCache on a machine where torch has an NPU: importable and usable through our plug-in, and only through it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

SCRIPT = """
import sys, types, torch
torch.npu = types.ModuleType("torch.npu")
for name in ("is_available", "is_initialized"):
    setattr(torch.npu, name, lambda: True)
torch.npu.device_count = lambda: 1
torch.npu.current_device = lambda: 0
torch.npu.set_device = torch.npu.synchronize = lambda *_: None
sys.modules["torch.npu"] = torch.npu

from cache_tiers.lmcache_store import open_store
from cache_tiers.block_key import BlockKey
from cache_tiers.redis.value import BlockSeal
from lmcache.v1 import platform

assert type(platform.current_device_spec).__name__ == "EbbNpuSpec", platform.current_device_spec
store = open_store(
    block_nbytes=4096, cpu_bytes=1 << 20, redis_address=None, seal=BlockSeal(b"s", bytes(16)), keep_in_cpu=True,
    eviction="lru",
)
key = BlockKey(bytes(32))
(slot,) = store.reserve([key])
store.pool[slot.offset : slot.offset + 4096] = b"x" * 4096
store.commit([key])
result = store.poll(store.prefetch([key], redis=False))
assert result.from_cpu == 1 and bytes(store.pool[slot.offset : slot.offset + 4]) == b"xxxx"
store.release([key])
store.close()
print("stored")
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The entry points of pyproject.toml as an installed package would publish them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    metadata = tmp_path / "ebb_plugin-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ebb-plugin\nVersion: 0\n")
    plugins = project["entry-points"]["lmcache.device_plugins"]
    lines = [f"{name} = {target}" for name, target in plugins.items()]
    (metadata / "entry_points.txt").write_text("[lmcache.device_plugins]\n" + "\n".join(lines) + "\n")
    return tmp_path


def run(*paths: Path) -> subprocess.CompletedProcess[str]:
    code = f"import sys\nsys.path[:0] = {[str(path) for path in paths]!r}\n{SCRIPT}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_lmcache_keeps_blocks_where_torch_has_an_npu(installed: Path) -> None:
    ran = run(installed, ROOT)
    assert ran.stdout.strip() == "stored", ran.stderr[-3000:]
