"""The server under test: `bench.api.serve` as a child process."""

import sys
from pathlib import Path

from bench.api.schedule import STEP_SECONDS
from bench.server import EbbServer, ServerSettings


def replay_server(state_dir: Path, step_seconds: float = STEP_SECONDS, flags: tuple[str, ...] = ()) -> EbbServer:
    """Not started yet. step_seconds: between two tokens of an answer. flags: more of `bench.api.serve`."""
    command = (sys.executable, "-m", "bench.api.serve", "--step-seconds", str(step_seconds))
    return EbbServer(ServerSettings("replay", flags), state_dir, command)
