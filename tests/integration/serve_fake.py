"""`ebb serve` in a separate process, with an engine that needs no model and takes orders from standard input.

    python -m tests.integration.serve_fake STATE_DIR PORT DRAIN_SECONDS OLLAMA_PORT [CERTIFICATE KEY]

The first line decides the start: "fail" makes it fail, "build" or anything else lets it continue. The lines "hold",
"allow N" and "give-up WHY" call the methods of ReplayEngine. Each order is logged once it has taken effect.
"""

import asyncio
import logging
import sys
import threading
from pathlib import Path

from app.config.settings import Settings
from app.host.supervisor import supervise
from app.server import run_server
from engine.api.errors import EngineError
from engine.testing.replay_engine import ReplayEngine


class ObedientEngine(ReplayEngine):
    """Fake engine that reads orders from standard input once started."""

    async def start(self) -> None:
        await super().start()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._obey, args=(loop,), daemon=True).start()

    def _obey(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            order, _, argument = line.strip().partition(" ")
            loop.call_soon_threadsafe(self._obey_one, order, argument)

    def _obey_one(self, order: str, argument: str) -> None:
        if order == "hold":
            self.hold()
        elif order == "give-up":
            # A hung step: its thread would keep a process alive that exits the usual way.
            threading.Thread(target=threading.Event().wait, name="hung-step").start()
            self.give_up(argument)
        else:
            self.allow(int(argument))
        logging.getLogger("orders").info("obeyed %s %s", order, argument)


def build(report: object) -> tuple[ReplayEngine, str]:
    """Wait for the order to continue, then build the engine."""
    assert callable(report)
    report("Waiting for the order to go on")
    if sys.stdin.readline().strip() == "fail":
        raise EngineError("The model does not fit")
    return ObedientEngine(), "identity"


def main() -> int:
    state_dir, port, drain_seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    certificate, key = map(Path, sys.argv[5:7]) if len(sys.argv) > 5 else (None, None)
    settings = Settings(
        state_dir=state_dir,
        log_level="debug",
        cache_dir=state_dir,
        secret_file=state_dir / "secret",
        cpu_kv_memory=0,
        host="127.0.0.1",
        port=port,
        ollama_port=int(sys.argv[4]),
        chat_titles="first-words",
        tls_certificate=certificate,
        tls_key=key,
    )
    return supervise(settings, lambda listeners, _: run_server(settings, listeners, build, drain_seconds=drain_seconds))


if __name__ == "__main__":
    sys.exit(main())
