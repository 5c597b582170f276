"""The start of a server is fast because what is slow to import comes late, or beside something else."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        # Redis loads its snapshot while torch is imported, so what starts Redis must do without torch.
        ("engine.build, models.resolve", ("torch", "lmcache", "transformers", "gguf")),
        # The supervising process of `ebb serve` forks from these, and keeps them in memory for as long as it serves.
        ("app.cli, app.supervisor", ("torch", "lmcache", "numpy", "uvicorn", "starlette", "sqlite3")),
        # The page is served before the engine is made.
        ("app.server, app.startup", ("torch", "lmcache", "transformers", "numpy")),
    ],
)
def test_what_comes_first_imports_nothing_heavy(modules: str, heavy: tuple[str, ...]) -> None:
    code = f"import sys, {modules}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
