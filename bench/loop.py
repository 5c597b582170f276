"""`python -m bench.loop`: stalls of the event loop, and gaps in a stream, while other clients send a lot.

A server of the model of `bench.long_window_model` answers one client with a stream, first alone, then alongside each
kind of load: prompts of nearly the window, prompts that are refused, masks that are slow to compute, and streams that
are not read. Writes loop.json and loop.md; returns 1 if a target is missed.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from app.load.client import LoadClient, fixed_length
from app.load.words import WORDS
from app.observability.percentiles import percentile
from bench.ending import run_to_end
from bench.long_window_model import WINDOW, write_long_window_model
from bench.loop_lag import lag_counts
from bench.machine import describe_machine
from bench.report import RESULTS, Target, show_results
from bench.server import EbbServer, ServerSettings
from models.download.pull import pull_default

MAX_LAG_MS: Final = 50.0
MAX_RATIO: Final = 1.5
SLOW_FORM: Final = r"([a-z ,.]{0,100}[ab]){4}"
UNREAD: Final = 20

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one kind of load.

    lag_ms: upper bound of the highest bucket of the event loop's lag. p99_ms: of the gaps in the watched stream.
    statuses: of the load's requests.
    """

    load: str
    lag_ms: float
    p99_ms: float
    tokens: int
    statuses: dict[int, int]


class Load:
    """Clients that send the same kind of request repeatedly."""

    def __init__(self, session: aiohttp.ClientSession, model: str) -> None:
        self.statuses = Counter[int]()
        self._session = session
        self._model = model
        self._count = 0
        # Made once: the loop that sends them also watches the stream.
        self._refused = [self._encoded(text) for text in (" " * 50_000 + "the " * 880_000, "the " * (3 * WINDOW))]

    async def long_arrivals(self) -> None:
        """Send prompts of nearly the window, each a different one, and leave when they are queued."""
        self._count += 1
        words = [WORDS[(number * 7 + self._count) % len(WORDS)] for number in range(WINDOW * 3 // 4)]
        with suppress(TimeoutError):
            async with asyncio.timeout(3):
                await self._ask({"messages": [{"role": "user", "content": " ".join(words)}], "max_tokens": 1})

    async def refused_prompts(self) -> None:
        """Send prompts of several windows."""
        for body in self._refused:
            await self._send(body)

    async def slow_masks(self) -> None:
        """Ask for an answer of a form whose masks take a long time."""
        await self._ask(
            {
                "messages": [{"role": "user", "content": "Say something."}],
                "structured_outputs": {"regex": SLOW_FORM},
                "max_tokens": 100,
            }
        )

    async def unread_streams(self) -> None:
        """Ask for long streams with many log probabilities, and read nothing of them."""
        address = urlsplit(str(self._session._base_url))
        body = json.dumps(
            {
                "model": self._model,
                "messages": [{"role": "user", "content": "Go on."}],
                "stream": True,
                "max_tokens": 6000,
                "logprobs": True,
                "top_logprobs": 20,
                "ignore_eos": True,
            }
        ).encode()
        reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=1 << 10)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        try:
            await reader.readuntil(b"\r\n")
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            self.statuses[200] += 1
            await asyncio.Event().wait()
        finally:
            writer.transport.abort()

    def _encoded(self, text: str) -> bytes:
        messages = [{"role": "user", "content": text}]
        return json.dumps({"model": self._model, "messages": messages, "max_tokens": 1}).encode()

    async def _ask(self, body: Body) -> None:
        await self._send(json.dumps({"model": self._model, **body}).encode())

    async def _send(self, body: bytes) -> None:
        headers = {"Content-Type": "application/json"}
        async with self._session.post("/v1/chat/completions", data=BytesIO(body), headers=headers) as response:
            await response.read()
            self.statuses[response.status] += 1


LOADS: Final[dict[str, tuple[Callable[[Load], Awaitable[None]], int]]] = {
    "prompts of nearly the window": (Load.long_arrivals, 2),
    "refused prompts": (Load.refused_prompts, 6),
    "slow masks": (Load.slow_masks, 8),
    "streams that are not read": (Load.unread_streams, UNREAD),
}
"""Work of each client, and the number of clients."""


async def measure(model: Path, root: Path, seconds: float) -> list[Outcome]:
    """Watch a stream, alone and then alongside each load. Raise ServerFailedError."""
    flags = ("--model", str(model), "--kv-memory", "1GiB")
    async with (
        EbbServer(ServerSettings("loop", flags), root) as server,
        aiohttp.ClientSession(server.base_url) as session,
    ):
        name = await server.client.model()
        outcomes = [await _watch("alone", server.client, session, Load(session, name), seconds)]
        for load, (send, count) in LOADS.items():
            sender = Load(session, name)
            tasks = [asyncio.create_task(_again(send, sender)) for _ in range(count)]
            try:
                outcomes.append(await _watch(load, server.client, session, sender, seconds))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    return outcomes


async def _again(send: Callable[[Load], Awaitable[None]], sender: Load) -> None:
    while True:
        await send(sender)


async def _watch(
    load: str, client: LoadClient, session: aiohttp.ClientSession, sender: Load, seconds: float
) -> Outcome:
    """Read short streams one after the other for `seconds`, and measure how late the loop was."""
    before, began, gaps, tokens = await _lags(session), time.perf_counter(), list[float](), 0
    while time.perf_counter() - began < seconds:
        answer = await client.chat([{"role": "user", "content": "Tell me something."}], fixed_length(100))
        gaps += answer.gaps
        tokens += answer.tokens
    lags = await _lags(session)
    lag = max(lags - before, default=0.0)
    return Outcome(load, lag, percentile(gaps, 99) * 1e3, tokens, dict(sender.statuses))


async def _lags(session: aiohttp.ClientSession) -> Counter[float]:
    async with session.get("/metrics") as response:
        return lag_counts(await response.text())


def targets_of(outcomes: Sequence[Outcome]) -> list[Target]:
    """Compare the loads with the stream alone."""
    alone, *loads = outcomes
    return [
        Target("longest stall of the event loop, ms", max(each.lag_ms for each in loads), MAX_LAG_MS, at_least=False),
        Target(
            "p99 gap of the stream alongside refused prompts, over alone",
            next(each.p99_ms for each in loads if each.load == "refused prompts") / alone.p99_ms,
            MAX_RATIO,
            at_least=False,
        ),
    ]


def table(outcomes: Sequence[Outcome]) -> str:
    """Write the outcomes as Markdown."""
    alone = outcomes[0]
    lines = [
        f"Effect of other requests on a stream, with a window of {WINDOW:,} tokens, {time.strftime('%Y-%m-%d')}.",
        "",
        "| alongside | longest loop stall, ms | p99 gap, ms | over alone | tokens | answers |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for each in outcomes:
        answers = ", ".join(f"{count} × {status}" for status, count in sorted(each.statuses.items()))
        ratio = each.p99_ms / alone.p99_ms
        lines.append(f"| {each.load} | {each.lag_ms:g} | {each.p99_ms:.1f} | {ratio:.2f} | {each.tokens} | {answers} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Returns 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.loop", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--cache-dir", type=Path, default=Path.home() / ".cache" / "ebb")
    parser.add_argument("--seconds", type=float, default=15.0, help="seconds for each kind of load")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-loop-", ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        model = write_long_window_model(pull_default(arguments.cache_dir, print), root / "long-window")
        outcomes = run_to_end(measure(model, root / "state", arguments.seconds))
    targets = targets_of(outcomes)
    result: dict[str, Any] = {
        "measured_on": time.strftime("%Y-%m-%d"),
        "machine": asdict(describe_machine()),
        "outcomes": [asdict(outcome) for outcome in outcomes],
        "targets": [asdict(target) | {"met": target.met} for target in targets],
    }
    show_results(arguments.out, "loop", result, table(outcomes))
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    raise SystemExit(main())
