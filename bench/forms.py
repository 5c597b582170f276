"""`python -m bench.forms`: cost of hostile forms and bodies to a fresh `ebb serve`.

Measures the time until each is refused, and the lag of the event loop during that time. Writes forms.json and
forms.md. Returns 1 if a target is missed.
"""

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import aiohttp

from bench.ending import run_to_end
from bench.hostile_bodies import Attempt, attempts
from bench.loop_lag import lag_counts
from bench.machine import describe_machine
from bench.report import RESULTS, Target, show_results
from bench.server import EbbServer, ServerSettings

MAX_MS: Final = 100.0
MAX_LAG_MS: Final = 50.0
SETTLE_SECONDS: Final = 0.05
"""Pause after each request, so that a lag is attributed to it: twice the server's sampling interval."""

WORST: Final = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one request.

    of: path, and what was sent.
    ms: time until the whole answer had arrived.
    lag_ms: upper bound of the highest bucket that the event loop's lag reached.
    as_it_must: whether the status is one that the request allows.
    """

    of: str
    status: int
    ms: float
    lag_ms: float
    as_it_must: bool

    @property
    def is_refusal(self) -> bool:
        """Whether the server blamed the client."""
        return 400 <= self.status < 500


async def measure(flags: Sequence[str], root: Path) -> list[Outcome]:
    """Send all requests, one after another, to a server that has never compiled a form. Raise ServerFailedError."""
    async with (
        EbbServer(ServerSettings("hostile", tuple(flags)), root) as server,
        aiohttp.ClientSession(server.base_url) as session,
    ):
        model = await server.client.model()
        lags = await _lags(session)
        outcomes = []
        for attempt in attempts(model):
            status, ms = await _send(session, attempt)
            await asyncio.sleep(SETTLE_SECONDS)
            before, lags = lags, await _lags(session)
            as_it_must = 400 <= status < 500 if attempt.must_fail else status < 500
            lag = max(lags - before, default=0.0)
            outcomes.append(Outcome(f"{attempt.path} {attempt.what}", status, ms, lag, as_it_must))
    return outcomes


async def _send(session: aiohttp.ClientSession, attempt: Attempt) -> tuple[int, float]:
    headers = {"Content-Type": "application/json"}
    began = time.perf_counter()
    async with session.post(attempt.path, data=attempt.body, headers=headers) as response:
        await response.read()
        return response.status, (time.perf_counter() - began) * 1e3


async def _lags(session: aiohttp.ClientSession) -> Counter[float]:
    async with session.get("/metrics") as response:
        return lag_counts(await response.text())


def targets_of(outcomes: Sequence[Outcome]) -> list[Target]:
    """List the targets of all outcomes together."""
    refusals = [each.ms for each in outcomes if each.is_refusal]
    wrong = sum(not each.as_it_must for each in outcomes)
    return [
        Target("worst time until a refusal, ms", max(refusals, default=None), MAX_MS, at_least=False),
        Target("worst lag of the event loop, ms", max(each.lag_ms for each in outcomes), MAX_LAG_MS, at_least=False),
        Target("bodies not answered with a 4xx", wrong, 0, at_least=False),
    ]


def table(outcomes: Sequence[Outcome], targets: Sequence[Target]) -> str:
    """Format the targets and the slowest requests as Markdown."""
    lines = [
        f"{len(outcomes)} hostile bodies and forms, one after the other, {time.strftime('%Y-%m-%d')}.",
        "",
        "| target | measured | at most | |",
        "| --- | ---: | ---: | --- |",
    ]
    for target in targets:
        value = "none" if target.value is None else f"{target.value:.0f}"
        lines.append(f"| {target.claim} | {value} | {target.bound:g} | {'met' if target.met else 'missed'} |")
    lines += ["", "The slowest:", "", "| sent | status | ms | maximum lag, ms |", "| --- | ---: | ---: | ---: |"]
    worst = sorted(outcomes, key=lambda each: (each.as_it_must, -max(each.ms / MAX_MS, each.lag_ms / MAX_LAG_MS)))
    for each in worst[:WORST]:
        sent = each.of.replace("|", "\\|")
        lines.append(f"| `{sent}` | {each.status} | {each.ms:.1f} | {each.lag_ms:g} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.forms", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("flags", nargs="*", help="flags of `ebb serve`, after --")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-forms-", ignore_cleanup_errors=True) as root:
        outcomes = run_to_end(measure(arguments.flags, Path(root)))
    targets = targets_of(outcomes)
    result = {
        "measured_on": time.strftime("%Y-%m-%d"),
        "machine": asdict(describe_machine()),
        "outcomes": [asdict(outcome) for outcome in outcomes],
        "targets": [asdict(target) | {"met": target.met} for target in targets],
    }
    show_results(arguments.out, "forms", result, table(outcomes, targets))
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    raise SystemExit(main())
