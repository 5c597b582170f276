"""`python -m bench.api.serve`: the real server with an engine that replays tokens."""

import argparse
import json
import sys
from pathlib import Path

from app.config.settings import Settings
from app.host.startup import Report
from app.host.supervisor import supervise
from app.server import run_server
from engine.process.gc_freeze import frozen_objects
from engine.testing.replay_engine import MODEL, ReplayEngine
from engine.testing.schedule import STEP_SECONDS
from engine.testing.script import Pieces, StepNumbers

WINDOW = 8192
MOST_STREAMS = 1 << 16


def main() -> int:
    """Serve, with the flags that `bench.server.EbbServer` passes to `ebb serve`."""
    parser = argparse.ArgumentParser(prog="python -m bench.api.serve", description=__doc__)
    parser.add_argument("--step-seconds", type=float, default=STEP_SECONDS)
    parser.add_argument("--window", type=int, default=WINDOW, help="context window of the model, in tokens")
    parser.add_argument("--tokens", type=Path, help="JSON list of the texts of every answer's tokens")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--without-keys", action="store_true")
    given = parser.parse_args()
    tokens = json.loads(given.tokens.read_text(encoding="utf-8")) if given.tokens else []
    settings = Settings(
        state_dir=given.state_dir,
        cache_dir=given.state_dir,
        secret_file=given.state_dir / "secret",
        host=given.host,
        port=given.port,
        chat_titles="first-words",
        without_keys=given.without_keys,
    )

    def build(_: Report) -> tuple[ReplayEngine, str]:
        # The real engine's builder does the same.
        with frozen_objects():
            script = Pieces(tokens) if tokens else StepNumbers()
            return ReplayEngine(
                script, pace=given.step_seconds, window=given.window, max_waiting=MOST_STREAMS, prefix_cache=False
            ), MODEL

    return supervise(settings, lambda listeners, _: run_server(settings, listeners, build))


if __name__ == "__main__":
    sys.exit(main())
