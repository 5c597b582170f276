"""Start of the command `ebb`, where a folder on Python's path may have packages named like those of Ebb.

Such folders come from PYTHONPATH, as a project's own does in notebooks and CI, or are that of the script. Ebb needs
nothing from them, so neither this process nor one that it starts looks there.
"""

import os
import sys
from importlib.machinery import PathFinder

PACKAGES = ("app", "engine", "cache_tiers", "models")


def main() -> int:
    """Run the command, and return its exit status."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    hiding = [folder for folder in (sys.path[0], *given) if folder and _hides(folder)]
    sys.path[:] = [folder for folder in sys.path if folder not in hiding]
    if "PYTHONPATH" in os.environ:
        os.environ["PYTHONPATH"] = os.pathsep.join(folder for folder in given if folder not in hiding)
    from app.cli.main import main as command

    return command()


def _hides(folder: str) -> bool:
    """Return whether a folder has a package or module named like one of Ebb, and is not Ebb's own."""
    if os.path.realpath(folder) == os.path.dirname(os.path.realpath(__file__)):
        return False
    found = (PathFinder.find_spec(name, [folder]) for name in PACKAGES)
    # A folder without modules has no origin, and hides nothing.
    return any(spec is not None and spec.origin is not None for spec in found)
