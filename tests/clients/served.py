"""A server for the clients' programs, and runs of the programs against it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.environments import Environment
from tests.e2e.server_process import ebb_serve

MODEL = "smollm2-135m-instruct"
WINDOW = 2048
PROGRAM_SECONDS = 240.0
EBB = (sys.executable, "-c", "from app.cli.main import main; raise SystemExit(main())")
FOREIGN = ("EBB_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "LITELLM_", "LLM_", "CO_", "COHERE_", "PYTHON", "NODE_")
"""Beginnings of variables that would change what a client does."""

Run = Callable[[Environment, str], dict[str, Any]]
"""Function that runs a client's program, and returns what it reported."""


@dataclass(frozen=True)
class Served:
    """A running `ebb serve` with the default model, and two keys to it.

    key: has no limits. limited_key: of another tenant, whose every request is refused by its limit.
    """

    url: str
    key: str
    limited_key: str

    def run(self, client: Environment, program: str, folder: Path) -> dict[str, Any]:
        """Run a client's program in the directory `folder`. Return the JSON of the last line that it printed.

        Raise AssertionError with the program's output if it fails.
        """
        assert client.is_made, f"{client.folder.name} is not installed. Run: python -m tests.clients.environments"
        variables = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        variables |= {"EBB_URL": self.url, "EBB_MODEL": MODEL, "EBB_WINDOW": str(WINDOW), "HOME": str(folder)}
        variables |= {"EBB_KEY": self.key, "EBB_LIMITED_KEY": self.limited_key}
        # LiteLLM would read its table of models from the network, with retries.
        variables["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        done = subprocess.run(
            client.command(program), cwd=folder, env=variables, capture_output=True, text=True, timeout=PROGRAM_SECONDS
        )
        assert done.returncode == 0, f"{client.folder.name}/{program} failed:\n{done.stdout}{done.stderr}"
        seen = json.loads(done.stdout.splitlines()[-1])
        assert isinstance(seen, dict)
        return seen


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Serve the default model with a window of WINDOW tokens, and stop at the end. All files are in `folder`."""
    key, limited = (_new_key(folder, tenant) for tenant in ("clients", "limited"))
    _ebb(folder, "keys", "limits", "limited", "--requests-per-minute", "0")
    flags = ("--redis-url", "off", "--max-model-len", str(WINDOW), "--log-messages", "--rerank-words", "yes,no")
    with ebb_serve(folder, *flags) as url:
        yield Served(url, key, limited)


def _new_key(folder: Path, tenant: str) -> str:
    return _ebb(folder, "keys", "create", tenant).strip()


def _ebb(folder: Path, *arguments: str) -> str:
    # The place where `ebb_serve` keeps the state.
    command = (*EBB, *arguments, "--state-dir", str(folder / "state"))
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
