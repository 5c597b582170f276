"""Context of a benchmark's sections: the plan, a place for servers, and progress messages."""

import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from bench.plan import Plan
from bench.server import EBB_SERVE, EbbServer, ServerSettings


class Workbench:
    """Owner of the state directories under `root`, which the caller removes. `command` replaces `ebb serve`."""

    def __init__(
        self, plan: Plan, root: Path, command: Sequence[str] = EBB_SERVE, *, began: float | None = None
    ) -> None:
        self.plan = plan
        self._root = root
        self._command = command
        self._made = 0
        self._began = time.perf_counter() if began is None else began

    def with_plan(self, plan: Plan, name: str) -> "Workbench":
        """Return a workbench with another plan and the same clock, with state in the folder `name`."""
        return Workbench(plan, self._root / name, self._command, began=self._began)

    async def launch(self, stack: AsyncExitStack, settings: ServerSettings) -> EbbServer:
        """Start and warm up a server on its own state directory. The server ends with `stack`."""
        self._made += 1
        server = EbbServer(settings, self._root / f"state-{self._made}", self._command)
        stack.push_async_callback(server.stop)
        self.say(f"starting {settings.name!r}")
        seconds = await server.start()
        self.say(f"{settings.name!r} is ready after {seconds:.1f} s")
        return server

    async def kill_and_restart(self, server: EbbServer) -> float:
        """Send SIGKILL and start again on the same state, with no block in the page cache.

        Return the seconds from start to ready.
        """
        self.say(f"kill -9 of {server.settings.name!r}")
        await server.kill()
        server.drop_cached_kv()
        seconds = await server.start()
        self.say(f"{server.settings.name!r} is ready again after {seconds:.1f} s")
        return seconds

    def say(self, text: str) -> None:
        """Print a line of progress with the seconds since the start."""
        print(f"[{time.perf_counter() - self._began:5.0f} s] {text}", file=sys.stderr, flush=True)
