"""Start-up time of a server: slow imports are deferred or run alongside other work."""

import subprocess
import sys

import pytest

from tests.sizes import MANY_PROCESSES


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        # Redis loads its snapshot while torch is imported, so the modules that start Redis must not import torch.
        ("engine.wiring.build, models.download.resolve", ("torch", "lmcache", "transformers", "gguf")),
        # The supervisor of `ebb serve` forks from these modules, and keeps them in memory while serving.
        ("app.cli.main, app.host.supervisor", ("torch", "lmcache", "numpy", "uvicorn", "starlette", "sqlite3")),
        # The page is served before the engine is built.
        ("app.server, app.host.startup", ("torch", "lmcache", "transformers", "numpy")),
        # LMCache would import these for functions that Ebb does not call.
        pytest.param("cache_tiers.cpu_store.open_store", ("numba", "llvmlite"), marks=MANY_PROCESSES),
    ],
)
def test_early_modules_import_nothing_heavy(modules: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {modules}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
