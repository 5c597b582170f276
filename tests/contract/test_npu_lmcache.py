"""Plain LMCache on a machine where torch has an NPU, which imports and works only through Ebb's plug-in."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.contract.lmcache_platform import detected_spec

pytest.importorskip("lmcache")

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

from cache_tiers.cpu_store.open_store import open_store
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.lower.sealed_value import BlockSeal
from lmcache.v1 import platform

assert type(platform.current_device_spec).__name__ == "EbbNpuSpec", platform.current_device_spec
store = open_store(
    block_nbytes=4096, cpu_bytes=1 << 20, lower=[], seal=BlockSeal(b"s", bytes(16)), keep_in_cpu=True,
    eviction="lru",
)
key = BlockKey(bytes(32))
(slot,) = store.reserve([key])
store.pool[slot.offset : slot.offset + 4096] = b"x" * 4096
store.commit([key])
result = store.poll(store.prefetch([key], lower=False))
assert result.sources == ("cpu",) and bytes(store.pool[slot.offset : slot.offset + 4]) == b"xxxx"
store.release([key])
store.close()
print("stored")
"""


def entry_points() -> dict[str, str]:
    """Read the LMCache device plug-ins that an installed Ebb declares, as name to target."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plugins: dict[str, str] = project["entry-points"]["lmcache.device_plugins"]
    return plugins


def test_lmcache_takes_ebb_plug_in_on_npu_and_needs_no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    plugins = [EntryPoint(name, value, "lmcache.device_plugins") for name, value in entry_points().items()]
    spec = detected_spec(monkeypatch, plugins, backend="ebb-npu")
    assert type(spec).__module__ == "cache_tiers.npu.lmcache_plugin"
    assert spec.get_ops().device_type == "npu"


def test_own_npu_platform_of_lmcache_needs_missing_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show that the plug-in is needed. If this test fails, the plug-in may be obsolete."""
    spec = detected_spec(monkeypatch, [], backend="npu")
    with pytest.raises(ImportError, match="LMCache-Ascend"):
        spec.get_ops()


@pytest.mark.torch_npu
def test_lmcache_keeps_blocks_where_torch_has_npu(tmp_path: Path) -> None:
    """Run in a separate process, because LMCache chooses its platform when it is imported."""
    metadata = tmp_path / "ebb_plugin-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ebb-plugin\nVersion: 0\n")
    lines = [f"{name} = {target}" for name, target in entry_points().items()]
    (metadata / "entry_points.txt").write_text("[lmcache.device_plugins]\n" + "\n".join(lines) + "\n")
    code = f"import sys\nsys.path[:0] = {[str(tmp_path), str(ROOT)]!r}\n{SCRIPT}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.strip() == "stored", ran.stderr[-3000:]
