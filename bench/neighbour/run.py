"""One run: windows with a hostile and with a well-behaved neighbour in turn, on one server."""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp

from app.load.client import LoadClient
from bench.machine import describe_machine
from bench.neighbour.plan import NeighbourPlan
from bench.neighbour.report import NeighbourReport, Side, side
from bench.neighbour.victim import Samples, run_victim
from bench.server import EbbServer
from bench.soak.observed import bad_lines

VICTIM, NEIGHBOUR, OPERATOR = "victim", "neighbour", "operator"
_DRAIN_SECONDS = 20.0


@dataclass(slots=True)
class _Tally:
    """The samples of the windows of one kind, and the tokens of both tenants in them."""

    samples: Samples = field(default_factory=Samples)
    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)

    def side(self) -> Side:
        """Summarize the windows of this kind."""
        return side(self.samples, self.tokens[NEIGHBOUR], self.tokens[VICTIM], self.outcomes)


class NeighbourRun:
    """One run. `root` is a folder for state that its owner removes."""

    def __init__(self, plan: NeighbourPlan, root: Path) -> None:
        self._plan = plan
        self._root = root
        self._tallies = {"well-behaved": _Tally(), "hostile": _Tally()}

    async def run(self) -> NeighbourReport:
        """Measure all windows. Raise ServerFailedError if the server ends by itself."""
        state = self._root / "state"
        async with EbbServer(self._plan.server(), state) as server:
            url = server.client.base_url
            keys = await _make_keys(url)
            model = await server.client.model()
            for window in range(self._plan.windows):
                for kind in self._tallies:
                    await self._window(url, keys, model, kind, window)
                    await _drain(url, keys[OPERATOR])
        hostile = self._tallies["hostile"]
        return NeighbourReport(
            measured_on=datetime.now(UTC).date().isoformat(),
            machine=describe_machine(),
            plan=self._plan,
            hostile=hostile.side(),
            well_behaved=self._tallies["well-behaved"].side(),
            errors=tuple(hostile.samples.errors),
            bad_lines=tuple(bad_lines(state / "server.log")),
        )

    async def _window(self, url: str, keys: Mapping[str, str], model: str, kind: str, window: int) -> None:
        tally, end = self._tallies[kind], asyncio.Event()
        before = await _tokens(url, keys[OPERATOR])
        order = {
            "url": url,
            "key": keys[NEIGHBOUR],
            "model": model,
            "kind": kind,
            "seconds": self._plan.seconds_of(kind),
            "seed": f"{self._plan.seed}/{window}",
            "plan": asdict(self._plan),
        }
        guest = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.neighbour.guests", json.dumps(order), stdout=asyncio.subprocess.PIPE
        )
        try:
            async with LoadClient(url, model=model, api_key=keys[VICTIM]) as client:
                victim = asyncio.create_task(run_victim(client, self._plan, tally.samples, window, end))
                said, _ = await guest.communicate()
                end.set()
                await victim
        finally:
            if guest.returncode is None:
                guest.kill()
        tally.outcomes.update(json.loads(said))
        after = await _tokens(url, keys[OPERATOR])
        tally.tokens.update({tenant: after[tenant] - before[tenant] for tenant in after})
        print(f"window {window + 1} of {self._plan.windows}, {kind}: {len(tally.samples.ttft)} turns", file=sys.stderr)


async def _make_keys(url: str) -> dict[str, str]:
    """Make a key for each tenant and one for the operator, who is the first, since that closes the server."""
    keys: dict[str, str] = {}
    async with aiohttp.ClientSession(url) as session:
        for name, scope in ((OPERATOR, "admin"), (VICTIM, "user"), (NEIGHBOUR, "user")):
            headers = {"Authorization": f"Bearer {keys[OPERATOR]}"} if keys else {}
            body = {"name": name, "tenant": name, "scope": scope}
            async with session.post("/api/admin/keys", json=body, headers=headers) as response:
                response.raise_for_status()
                keys[name] = str((await response.json())["key"])
    return keys


async def _tokens(url: str, key: str) -> dict[str, int]:
    """Read the tokens that each tenant has used."""
    return {str(one["tenant"]): int(one["tokens"]) for one in await _tenants(url, key)}


async def _drain(url: str, key: str) -> None:
    """Wait until the requests of the last window have ended, at most `_DRAIN_SECONDS`."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    while True:
        if not any(one["live"] for one in await _tenants(url, key)) or time.monotonic() > deadline:
            return
        await asyncio.sleep(0.2)


async def _tenants(url: str, key: str) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(url, headers=headers) as session, session.get("/api/admin/tenants") as response:
        response.raise_for_status()
        found: list[dict[str, Any]] = (await response.json())["data"]
    return found
