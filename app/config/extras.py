"""The command that installs an optional part of Ebb."""

import shlex
import sys
from pathlib import Path


def install_command(extra: str, root: Path = Path(__file__).parents[2]) -> str:
    """Return the command that installs an extra into this Python: of a checkout of Ebb, or of the package.

    root: folder that contains the package `app`.
    """
    if not (root / "pyproject.toml").is_file():
        return f"pip install 'ebb-chat[{extra}]'"
    return f"{shlex.quote(sys.executable)} -m pip install --editable {shlex.quote(f'{root}[{extra}]')}"
