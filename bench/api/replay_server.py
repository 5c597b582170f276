"""The server under test: `bench.api.serve` as a child process."""

import sys
from pathlib import Path

from bench.server import EbbServer, ServerSettings
from engine.testing.schedule import STEP_SECONDS


def replay_server(state_dir: Path, step_seconds: float = STEP_SECONDS, flags: tuple[str, ...] = ()) -> EbbServer:
    """Create a server, not started yet.

    step_seconds: time between two tokens of an answer.
    flags: further flags of `bench.api.serve`.
    """
    command = (sys.executable, "-m", "bench.api.serve", "--step-seconds", str(step_seconds))
    return EbbServer(ServerSettings("replay", flags), state_dir, command)
