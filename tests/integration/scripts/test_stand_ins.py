"""Empty wheels in place of packages that LMCache requires and Ebb does not use."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from cache_tiers.cpu_store.open_store import INSTALLED
from cache_tiers.cpu_store.plain_memory import PLAIN

SCRIPT = Path(__file__).parents[3] / "scripts/stand_ins.py"


@pytest.fixture
def stand_ins() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stand_ins", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pip_takes_each_stand_in_for_its_package(stand_ins: ModuleType, tmp_path: Path) -> None:
    pinned = stand_ins.pinned_versions()
    wheels = [stand_ins.write_wheel(tmp_path, name, pinned[name] + stand_ins.LABEL) for name in stand_ins.UNUSED]
    target = tmp_path / "target"
    command = [*stand_ins.PIP, "install", "--quiet", "--no-index", "--no-deps", "--target", str(target)]
    subprocess.run([*command, *map(str, wheels)], check=True)
    assert {path.suffix for path in target.iterdir()} == {".dist-info"}
    for name in stand_ins.UNUSED:
        assert Requirement(f"{name}=={pinned[name]}").specifier.contains(pinned[name] + stand_ins.LABEL)


def test_stand_in_has_the_same_bytes_each_time(stand_ins: ModuleType, tmp_path: Path) -> None:
    first = stand_ins.write_wheel(tmp_path, "cupy-cuda13x", "1.0+ebb")
    before = first.read_bytes()
    assert stand_ins.write_wheel(tmp_path, "cupy-cuda13x", "1.0+ebb").read_bytes() == before
    with ZipFile(first) as archive:
        assert "Requires-Dist" not in archive.read("cupy_cuda13x-1.0+ebb.dist-info/METADATA").decode()


@pytest.mark.skipif(INSTALLED is PLAIN, reason="LMCache is not installed")
def test_lmcache_stores_blocks_without_the_packages(stand_ins: ModuleType) -> None:
    modules = [
        "awscrt",
        "cuda",
        "cufile",
        "cupy",
        "google.api_core",
        "google.cloud",
        "grpc",
        "llvmlite",
        "numba",
        "nvtx",
    ]
    script = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({modules}))\n"
        "del sys.modules['numba']\n"
        "from tests.store_rig import Rigs, keys\n"
        "rig = Rigs().open(None)\n"
        "assert rig.put(keys(range(4))) == keys(range(4))\n"
        "assert rig.counts(keys(range(4))) == (4, 0)\n"
        "rig.store.check()\n"
        "rig.store.close()\n"
        f"assert not {{*sys.modules}} & {{'llvmlite.binding', 'numba.core'}}\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=SCRIPT.parents[1])
