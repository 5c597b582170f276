"""How late the page's list of chats stands there, and what memory the page takes, with few chats and with many."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page

from app.storage.store import Store
from bench.api.replay_server import replay_server
from bench.conversation_store import BATCH, Words, conversation_of
from bench.page_visit import SETTLED_MS, new_page
from bench.report import Target
from bench.report_tables import table

CHATS = (50, 50_000)
MESSAGES = 2
MAX_RATIO, MAX_HEAP_MB = 1.2, 40.0
VISITS = 5
LISTED = """() => {
    const link = document.querySelector('nav a[href^="/c/"]');
    return link !== null && link.getBoundingClientRect().height > 0 ? performance.now() : false;
}"""


@dataclass(frozen=True, slots=True)
class ListFigures:
    """The list of `chats` chats.

    seconds: the shortest time of VISITS from opening the page until the first chat is listed.
    heap_mb: memory of the page's script after that, in 10^6 bytes.
    """

    chats: int
    seconds: float
    heap_mb: float


def targets(figures: Sequence[ListFigures]) -> list[Target]:
    """List the targets of the list of chats."""
    few, many = figures
    name = f"list of {many.chats:,} chats"
    return [
        Target(f"{name}: time over that of {few.chats}", many.seconds / few.seconds, MAX_RATIO, at_least=False),
        Target(f"{name}: heap, MB", many.heap_mb, MAX_HEAP_MB, at_least=False),
    ]


def lists_table(figures: Sequence[ListFigures]) -> str:
    """Format the figures of the lists."""
    rows = [(f"{each.chats:,}", f"{each.seconds:.2f}", f"{each.heap_mb:.1f}") for each in figures]
    return table(("chats", "listed after, s", "heap, MB"), rows)


async def fill(root: Path) -> dict[int, Path]:
    """Make a database for each of CHATS in `root`. Return their paths."""
    made = dict[int, Path]()
    for chats in CHATS:
        made[chats] = root / f"{chats}.db"
        words, store = Words(1), await Store.open(made[chats])
        for start in range(0, chats, BATCH):
            numbers = range(start, min(start + BATCH, chats))
            await store.imports.add([conversation_of(words, n, MESSAGES) for n in numbers], duplicates=True)
        await store.close()
    return made


async def measure_lists(browser: Browser, databases: Mapping[int, Path], root: Path) -> tuple[ListFigures, ...]:
    """Open the page on a copy of each database."""
    return tuple([await _measure(browser, chats, path, root / str(chats)) for chats, path in databases.items()])


async def _measure(browser: Browser, chats: int, database: Path, state: Path) -> ListFigures:
    await asyncio.to_thread(_copy, database, state)
    async with replay_server(state) as server:
        seconds = list[float]()
        for _ in range(VISITS):
            page = await new_page(browser, server)
            await page.goto("/", wait_until="commit")
            listed = await page.wait_for_function(LISTED, polling="raf", timeout=120_000)
            seconds.append(float(await listed.json_value()) / 1e3)
            await page.wait_for_timeout(SETTLED_MS)
            heap_mb = await _heap_mb(page)
            await page.context.close()
    return ListFigures(chats, min(seconds), heap_mb)


def _copy(database: Path, state: Path) -> None:
    state.mkdir(parents=True)
    shutil.copy(database, state / "conversations.db")


async def _heap_mb(page: Page) -> float:
    client = await page.context.new_cdp_session(page)
    await client.send("HeapProfiler.collectGarbage")
    return float((await client.send("Runtime.getHeapUsage"))["usedSize"]) / 1e6
