"""`python -m bench.growth`: whether a server's memory levels off while chats are added and none is deleted.

A server with a small random model and no tiers first answers turns in chats of the page's API, then stateless chat
completions. Resident memory may grow by 1 % after the first requests of each kind.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import aiohttp
import psutil  # type: ignore[import-untyped]

from app.config.settings import load_settings
from bench.ending import run_to_end
from bench.random_llama import write_random_llama
from bench.report import RESULTS, Target, show_results
from bench.server import EbbServer, ServerSettings
from models.download.resolve import find_model

CLIENTS: Final = 12
TURNS: Final = 20
"""Turns of a chat."""
MOST: Final = 1.01
"""Largest ratio of the memory at the end and after the first requests."""
SMALL: Final = {
    "num_hidden_layers": 1,
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 64,
}
EVERY: Final = 1_000
"""Requests between two reports of progress."""
FLAGS: Final = ("--redis-url", "off", "--cpu-kv-memory", "0", "--kv-memory", "16MiB")

Ask = Callable[[aiohttp.ClientSession, random.Random, int], Awaitable[None]]
"""Sends the requests of one chat, so many at most."""
Report = Callable[[str], None]
"""Is told how far a measurement is."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Resident bytes of the server after some requests of one kind."""

    kind: str
    early: int
    late: int


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write the table. Return 0, or 1 if memory grows."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--requests", type=int, default=30_000, help="of each kind")
    parser.add_argument("--first", type=int, default=5_000, help="requests of each kind after which memory is compared")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-growth-") as folder:
        found = run_to_end(measure(Path(folder), arguments.first, arguments.requests, report))
    targets = [target(each) for each in found]
    text = table(targets, arguments.first, arguments.requests)
    show_results(arguments.out, "growth", [asdict(each) for each in found], text)
    return 0 if all(each.met for each in targets) else 1


def report(progress: str) -> None:
    """Print the progress at once."""
    print(progress, flush=True)


def target(growth: Growth) -> Target:
    """Return the ratio of the resident memory, and its bound."""
    return Target(growth.kind, growth.late / growth.early, MOST, at_least=False)


def table(targets: Sequence[Target], first: int, count: int) -> str:
    """Render the ratios in Markdown."""
    head = f"Resident memory after {count} requests over that after {first}, on one server, without deletions.\n\n"
    rows = "".join(f"| {each.claim} | {each.value:.4f} | {each.bound} |\n" for each in targets)
    return f"{head}| requests | ratio | at most |\n| --- | ---: | ---: |\n{rows}"


async def measure(folder: Path, first: int, count: int, report: Report) -> list[Growth]:
    """Return the memory of one server after `first` and after `count` requests of each kind."""
    model = folder / "model"
    model.mkdir()
    settings = load_settings({})
    source = find_model(settings.model, settings.cache_dir)
    if source is None:
        raise SystemExit(f"{settings.model} is not on this machine")
    write_random_llama(source, model, SMALL, only_known_tokens=True)
    flags = ServerSettings("growth", (*FLAGS, "--model", str(model)))
    async with EbbServer(flags, folder / "state") as server, aiohttp.ClientSession(server.base_url) as session:
        process, found = psutil.Process(server.pid), list[Growth]()
        for kind, ask in (("turns of chats", ask_in_chat), ("stateless requests", ask_stateless)):
            sizes = {0: process.memory_info().rss}
            for until in sorted({*range(EVERY, count, EVERY), first, count}):
                await ask_all(session, ask, until - max(sizes), seed=until)
                sizes[until] = process.memory_info().rss
                report(f"{kind}: {until} of {count}, {sizes[until] / 1e6:.1f} MB resident")
            found.append(Growth(kind, sizes[first], sizes[count]))
        return found


async def ask_all(session: aiohttp.ClientSession, ask: Ask, count: int, *, seed: int) -> None:
    """Send `count` requests from CLIENTS clients at once."""
    left = count

    async def client(number: int) -> None:
        nonlocal left
        words = random.Random(f"{seed}/{number}")
        while left > 0:
            taken = min(left, TURNS)
            left -= taken
            await ask(session, words, taken)

    async with asyncio.TaskGroup() as clients:
        for number in range(CLIENTS):
            clients.create_task(client(number))


async def ask_in_chat(session: aiohttp.ClientSession, words: random.Random, count: int) -> None:
    """Begin a chat and ask `count` questions in it."""
    async with session.post("/api/conversations", json={}) as response:
        chat = (await response.json())["id"]
    for _ in range(count):
        body = {"content": question(words), "params": {"max_tokens": 4, "ignore_eos": True}}
        async with session.post(f"/api/conversations/{chat}/messages", json=body) as response:
            response.raise_for_status()
            await response.read()


async def ask_stateless(session: aiohttp.ClientSession, words: random.Random, count: int) -> None:
    """Send `count` chat completions that share nothing."""
    for _ in range(count):
        body = {"model": "model", "messages": [{"role": "user", "content": question(words)}], "max_tokens": 4}
        async with session.post("/v1/chat/completions", json=body) as response:
            response.raise_for_status()
            await response.read()


def question(words: random.Random) -> str:
    """Return a text that was not asked before."""
    return " ".join(f"{words.choice('bdfgklmnprst')}{words.choice('aeiou')}{words.randrange(1000)}" for _ in range(6))


if __name__ == "__main__":
    raise SystemExit(main())
