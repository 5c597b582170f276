"""`python -m bench.flood_turns`: how long one tenant's turn waits while another tenant asks for as much as it can.

Two API keys on one server. The victim sends turns of about 40 tokens: alone, alongside 16 clients of the other tenant
that send prompts of about 1,180 tokens in a loop, alongside two requests with `n=16`, and alongside 50 long answers.
Alone and crowded take turns, and what counts is the ratio of the medians of the time to first token.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Final

import aiohttp

from app.load.client import Generation, LoadClient
from bench.ending import run_to_end
from bench.server import EbbServer, ServerSettings
from bench.stats import median

FLAGS: Final = ("--redis-url", "off", "--chat-titles", "first-words")
SETTLE_SECONDS: Final = 8.0
MOST: Final = {"floods": 3.0, "n=16": 5.0, "long answers": 5.0}
"""Maximum time to the first token of a turn, as a multiple of the time alone."""
CROWDS: Final[dict[str, tuple[int, int, dict[str, object]]]] = {
    "floods": (16, 800, {"max_tokens": 1}),
    "n=16": (2, 20, {"max_tokens": 400, "n": 16, "temperature": 1.0, "ignore_eos": True}),
    "long answers": (50, 20, {"max_tokens": 3000, "ignore_eos": True}),
}
"""Clients, words of a message, and the rest of the request's body."""

_numbers = count()


async def create_key(state_dir: Path, name: str) -> str:
    """Make an API key of a separate tenant."""
    command = (str(Path(sys.executable).with_name("ebb")), "keys", "create", name, "--state-dir", str(state_dir))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    return printed.decode().strip()


def text(words: int) -> str:
    """Make a message whose beginning no other message shares."""
    number = next(_numbers)
    return f"Message {number}. " + " ".join(f"item {number + at}" for at in range(words // 4))


async def turns(client: LoadClient, number: int) -> list[float]:
    """Send turns one after the other; returns their times to first token in seconds."""
    seconds = []
    for _ in range(number):
        answer = await client.chat([{"role": "user", "content": text(20)}], Generation(max_tokens=4))
        seconds.append(answer.ttft)
    return seconds


async def ask_in_loop(http: aiohttp.ClientSession, url: str, words: int, body: dict[str, object]) -> None:
    """Send requests one after the other until cancelled."""
    while True:
        messages = [{"role": "user", "content": text(words)}]
        async with http.post(f"{url}/v1/chat/completions", json={"messages": messages, **body}) as response:
            # A crowd that is refused measures nothing.
            response.raise_for_status()
            await response.read()


@asynccontextmanager
async def crowd(kind: str, url: str, key: str, model: str) -> AsyncIterator[None]:
    """Keep the other tenant's requests on the server."""
    clients, words, body = CROWDS[kind]
    headers = {"Authorization": f"Bearer {key}"}
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout) as http:
        body = {"model": model, **body}
        asked = [asyncio.create_task(ask_in_loop(http, url, words, body)) for _ in range(clients)]
        try:
            await asyncio.sleep(SETTLE_SECONDS)
            yield
        finally:
            for each in asked:
                each.cancel()
            for each in asked:
                with contextlib.suppress(asyncio.CancelledError):
                    await each


async def measure(rounds: int, flags: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return, by kind of crowd, the medians in ms alone and crowded, and their ratio."""
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        state_dir = Path(folder)
        async with EbbServer(ServerSettings("flood", (*FLAGS, *flags)), state_dir) as server:
            url = server.client.base_url
            victim, other = await create_key(state_dir, "victim"), await create_key(state_dir, "other")
            # A server takes a new key within a second.
            await asyncio.sleep(2.0)
            async with LoadClient(url, api_key=victim) as client:
                model = await client.model()
                await turns(client, 3)
                for kind, most in MOST.items():
                    alone, crowded = list[float](), list[float]()
                    for _ in range(rounds):
                        alone += await turns(client, 8)
                        async with crowd(kind, url, other, model):
                            crowded += await turns(client, 8)
                        await asyncio.sleep(2.0)
                    ratio = median(crowded) / median(alone)
                    rows[kind] = {
                        "alone_ms": round(median(alone) * 1e3, 1),
                        "crowded_ms": round(median(crowded) * 1e3, 1),
                        "worst_ms": round(max(crowded) * 1e3, 1),
                        "ratio": round(ratio, 2),
                        "most": most,
                    }
                    print(kind, json.dumps(rows[kind]), flush=True)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Print the ratios; the exit status is 1 if one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=3, help="number of rounds, each alone and then crowded (default 3)"
    )
    parser.add_argument("flags", nargs="*", help="additional flags of `ebb serve`, after --")
    options = parser.parse_args(argv)
    rows = run_to_end(measure(options.rounds, options.flags))
    return int(any(row["ratio"] > row["most"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
