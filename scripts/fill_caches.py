"""Fill the caches of pytest and mypy once, at set-up: compiled tests, and the types of the dependencies.

Without them, each process of the first test run compiles all tests, and mypy reads the source of torch and of
everything else that is imported.
"""

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

OWN = ("app", "engine", "cache_tiers", "models", "bench", "scripts", "tests")


def main() -> None:
    """Run both tools at the same time. They report no findings here, because `make lint` and the tests do."""
    with tempfile.TemporaryDirectory() as folder:
        imports = Path(folder) / "imports.py"
        imports.write_text("".join(f"import {name}\n" for name in sorted(set(_dependencies()))))
        tools = (["pytest", "-qq", "--collect-only"], ["mypy", str(imports)])
        running = [subprocess.Popen([sys.executable, "-m", *tool], stdout=subprocess.DEVNULL) for tool in tools]
        for process in running:
            process.wait()


def _dependencies() -> Iterator[str]:
    """Yield the modules of other packages that the sources import."""
    for package in OWN:
        for path in Path(package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                names: list[str] = []
                if isinstance(node, ast.Import):
                    names = [each.name for each in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module is not None:
                    names = [node.module]
                yield from (name for name in names if name.partition(".")[0] not in OWN)


if __name__ == "__main__":
    main()
