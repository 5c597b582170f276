"""A server for the heavy clients, and runs of their programs against it."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.agents.install import install_python_program
from tests.conftest import default_cache_dir
from tests.e2e.server_process import ebb_serve

EBB = (sys.executable, "-c", "from app.cli.main import main; raise SystemExit(main())")
PROGRAM_SECONDS = 300.0
TORCH_CPU_INDEX = os.environ.get("TORCH_CPU_INDEX", "https://download.pytorch.org/whl/cpu")


@dataclass(frozen=True)
class Served:
    """A running `ebb serve` that requires a key.

    model: name of the model, which every name that begins with "claude-" or "gpt-" stands for too.
    tokenizer: folder with the model's tokenizer, for clients that count tokens themselves.
    log: file with the server's log, one JSON object a line.
    """

    url: str
    key: str
    model: str
    tokenizer: Path
    log: Path


@contextmanager
def served(folder: Path, model: Path, tokenizer: Path) -> Iterator[Served]:
    """Serve the model in the folder `model`, and stop at the end. All files are in `folder`."""
    # The place where `ebb_serve` keeps the state.
    command = (*EBB, "keys", "create", "clients", "--state-dir", str(folder / "state"))
    key = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    aliases = f"claude-*={model.name},gpt-*={model.name}"
    flags = ("--model", str(model), "--model-alias", aliases, "--redis-url", "off", "--log-format", "json")
    with ebb_serve(folder, *flags, "--max-answer-tokens", "1024") as url:
        yield Served(url, key, model.name, tokenizer, folder / "serve.log")


def run(command: Sequence[str | Path], folder: Path, variables: Mapping[str, str]) -> str:
    """Run a client's program in `folder`, its home, and return its output.

    Raise AssertionError with the output if the program fails.
    """
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb", "PATH": os.environ["PATH"], **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PROGRAM_SECONDS,
    )
    assert done.returncode == 0, f"{Path(command[0]).name} failed:\n{done.stdout[-8000:]}"
    return done.stdout


def client_program(pins: Sequence[str], program: str, size: str, *, with_torch: bool = False) -> Path:
    """Return a client's program, installed at first use.

    with_torch: install the CPU build of torch first, since the client depends on torch.
    """
    return install_python_program(default_cache_dir(), pins, program, size, TORCH_CPU_INDEX if with_torch else "")
