"""`python -m bench.page_peer`: Ebb's page and Open WebUI's, side by side.

Both stream the same answers and open the same long chat in Chromium, in turns. A server that replays the answers sends
them at a fixed rate, and Open WebUI has this server as its provider. The figures are late frames, long tasks and the
computing time of the page's thread (`bench.smoothness`), and the time until the page shows everything. The ratios are
taken within each round, so that they hold on a slow machine too.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from app.config.settings import load_settings
from bench.api.replay_server import replay_server
from bench.chromium import launch_chromium
from bench.long_chat import ebb_file, open_webui_body, text_of
from bench.machine import Machine, describe_machine
from bench.open_webui import VERSION, install_open_webui, open_webui
from bench.page_answer import MARKDOWN, Answer, code, table, words_of
from bench.report import RESULTS, show_results
from bench.report_tables import table as report_table
from bench.smoothness import FRAME_GAP_MS, WATCH, Smoothness, measured
from bench.stats import median
from engine.testing.replay_engine import MODEL

TORCH_CPU_INDEX = os.environ.get("TORCH_CPU_INDEX", "https://download.pytorch.org/whl/cpu")
QUESTION = "Tell me everything about the tides."
PEER = f"Open WebUI {VERSION}"
PROMPT_TOKENS = 65_536
"""Most tokens of a prompt. Open WebUI describes its tools in each."""
POLL_MS, SETTLED_MS = 500, 1_000
"""Polling interval for the end of an answer, and the time in which an opened chat finishes drawing.

Polling in every frame would itself load the page.
"""
SHOWN_CHARACTERS = 20
SHOWN = """([messages, text]) => {
    const last = [...document.querySelectorAll(messages)].at(-1);
    return last?.textContent.includes(text) ? performance.now() : false;
}"""
PATIENCE = 20.0
"""A page may take this many times as long as the answer takes to arrive, and 30 s more."""


class ChatPage(Protocol):
    """Page under test.

    finished: JavaScript function that returns whether the answer is complete.
    messages: CSS selector of the messages.
    """

    name: str
    finished: str
    messages: str

    async def open(self, page: Page) -> None:
        """Open a new chat, with the cursor in its message box."""

    async def add_chat(self, page: Page, messages: int) -> str:
        """Store a long chat, from a page that was opened. Return its URL."""


class EbbPage:
    """Ebb's own page."""

    name = "Ebb"
    finished = """() => document.querySelector("article[data-status=complete]") !== null"""
    messages = "article"

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, page: Page) -> None:
        """Open a new chat, with the cursor in its message box."""
        await page.goto(self._url)
        await page.get_by_label("Message", exact=True).click()

    async def add_chat(self, page: Page, messages: int) -> str:
        """Store a long chat, from a page that was opened. Return its URL."""
        response = await page.request.post(
            f"{self._url}/api/import", data=ebb_file([text_of(number) for number in range(messages)])
        )
        return f"{self._url}/c/{(await response.json())['imported'][0]}"


class OpenWebUIPage:
    """Page of Open WebUI."""

    name = PEER
    finished = """() => document.querySelector("button[aria-label='Regenerate']") !== null"""
    messages = "[id^=message-]:not(#message-input-container)"

    def __init__(self, url: str) -> None:
        self._url = url

    async def open(self, page: Page) -> None:
        """Open a new chat, with the cursor in its message box."""
        await page.goto(self._url)
        await page.locator("#chat-input").wait_for()
        # The page shows the changes of a version that a person has not seen yet.
        await self._post(page, "users/user/settings/update", {"ui": {"version": VERSION}})
        await page.goto(f"{self._url}/?models={MODEL}")
        await page.locator("#chat-input").click()

    async def add_chat(self, page: Page, messages: int) -> str:
        """Store a long chat, from a page that was opened. Return its URL."""
        made = await self._post(page, "chats/new", open_webui_body(messages, MODEL))
        return f"{self._url}/c/{made['id']}"

    async def _post(self, page: Page, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {await page.evaluate('() => localStorage.token')}"}
        response = await page.request.post(f"{self._url}/api/v1/{path}", headers=headers, data=body)
        found: dict[str, Any] = await response.json()
        return found


@dataclass(frozen=True, slots=True)
class Seen:
    """One page in one round.

    seconds: time until the page shows everything: after sending the question, or after opening the chat's address.
    """

    seconds: float
    smooth: Smoothness


@dataclass(frozen=True, slots=True)
class Pair:
    """Both pages in one round."""

    ebb: Seen
    peer: Seen

    @property
    def computing_ratio(self) -> float:
        """Computing time of Ebb's page over that of its peer."""
        return self.ebb.smooth.computed_seconds / self.peer.smooth.computed_seconds


@dataclass(frozen=True, slots=True)
class Contest:
    """One thing to show, and the rounds in which both pages showed it."""

    name: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class PagePeerReport:
    """One run."""

    measured_on: str
    machine: Machine
    peer: str
    tokens_per_second: float
    contests: tuple[Contest, ...]


@dataclass(frozen=True, slots=True)
class _Bench:
    browser: Browser
    program: Path
    rate: float
    rounds: int

    async def answer(self, answer: Answer, folder: Path) -> Contest:
        """Stream an answer on both pages."""
        async with self._pages(answer, folder) as pages:
            return await self._contest(answer.name, pages, lambda chat: self._stream(chat, answer))

    async def long_chat(self, messages: int, folder: Path) -> Contest:
        """Open a long chat on both pages."""
        async with self._pages(Answer("", words_of(MARKDOWN), 1), folder) as pages:
            urls = {chat.name: await self._add(chat, messages) for chat in pages}
            shown = text_of(messages - 1)[:SHOWN_CHARACTERS]
            return await self._contest(
                f"{messages:,} messages opened", pages, lambda chat: self._open(chat, urls[chat.name], shown)
            )

    @asynccontextmanager
    async def _pages(self, answer: Answer, folder: Path) -> AsyncIterator[tuple[ChatPage, ChatPage]]:
        """Run both servers. Both pages show the same answers."""
        flags = ("--window", str(answer.tokens + PROMPT_TOKENS), "--tokens", str(answer.written(folder)))
        async with replay_server(folder / "state", 1 / self.rate, flags) as server:
            home = folder / "open-webui"
            home.mkdir()
            assert server.base_url is not None
            with open_webui(self.program, home, server.base_url, "none") as url:
                yield EbbPage(server.base_url), OpenWebUIPage(url)

    async def _contest(
        self, name: str, pages: tuple[ChatPage, ChatPage], look: Callable[[ChatPage], Awaitable[Seen]]
    ) -> Contest:
        """Look at both pages in every round. The page that begins changes with each round."""
        pairs = list[Pair]()
        for number in range(self.rounds):
            print(f"{name}, round {number + 1} of {self.rounds}", flush=True)
            order = pages if number % 2 == 0 else pages[::-1]
            seen = {chat.name: await look(chat) for chat in order}
            pairs.append(Pair(*(seen[chat.name] for chat in pages)))
        return Contest(name, tuple(pairs))

    async def _stream(self, chat: ChatPage, answer: Answer) -> Seen:
        """Ask for an answer in a browser that has nothing stored, and measure until the page shows all of it."""
        context = await self._context()
        page = await context.new_page()
        await chat.open(page)
        await page.keyboard.type(QUESTION)

        async def ask() -> float:
            began = time.monotonic()
            await page.keyboard.press("Enter")
            most_ms = (PATIENCE * answer.tokens / self.rate + 30) * 1e3
            await page.wait_for_function(chat.finished, timeout=most_ms, polling=POLL_MS)
            return time.monotonic() - began

        smooth, seconds = await measured(page, answer.name, ask())
        await context.close()
        return Seen(seconds, smooth)

    async def _add(self, chat: ChatPage, messages: int) -> str:
        """Store a long chat, and return its URL."""
        context = await self._context()
        page = await context.new_page()
        await chat.open(page)
        url = await chat.add_chat(page, messages)
        await context.close()
        return url

    async def _open(self, chat: ChatPage, url: str, shown: str) -> Seen:
        """Open a chat in a browser that has loaded the page before, and measure until its last message shows a text."""
        context = await self._context()
        first = await context.new_page()
        await chat.open(first)
        await first.close()
        page = await context.new_page()
        await page.add_init_script(f"({WATCH})()")

        async def open_it() -> float:
            await page.goto(url, wait_until="commit")
            found = await page.wait_for_function(SHOWN, arg=[chat.messages, shown], polling="raf")
            shown_ms = float(await found.json_value())
            # Messages above the screen are drawn a few frames later.
            await page.wait_for_timeout(SETTLED_MS)
            return shown_ms / 1e3

        smooth, seconds = await measured(page, "opened", open_it())
        await context.close()
        return Seen(seconds, smooth)

    async def _context(self) -> BrowserContext:
        return await self.browser.new_context(viewport={"width": 1280, "height": 800})


async def _measure(given: argparse.Namespace, program: Path, root: Path) -> PagePeerReport:
    answers = (
        Answer(f"{given.tokens:,} tokens of Markdown streamed", words_of(MARKDOWN), given.tokens),
        Answer("one block of code streamed", words_of(code(given.tokens)), given.tokens),
        Answer("one table streamed", words_of(table(given.tokens)), given.tokens),
    )
    async with async_playwright() as playwright:
        browser = await launch_chromium(playwright)
        bench = _Bench(browser, program, given.rate, given.rounds)
        contests = [await bench.long_chat(given.messages, root / "chat")]
        contests += [await bench.answer(answer, root / str(number)) for number, answer in enumerate(answers)]
        await browser.close()
    return PagePeerReport(date.today().isoformat(), describe_machine(), PEER, given.rate, tuple(contests))


def to_markdown(report: PagePeerReport) -> str:
    """Format the tables."""
    machine = report.machine
    head = (
        "",
        "page",
        "seconds",
        "computing, s",
        "frames",
        f"gaps over {FRAME_GAP_MS:.0f} ms",
        "longest gap, ms",
        "tasks over 50 ms",
        "longest, ms",
    )
    rows = [row for contest in report.contests for row in _rows(contest, report.peer)]
    ratios = [
        (contest.name, f"{median([pair.computing_ratio for pair in contest.pairs]):.2f}") for contest in report.contests
    ]
    heading = (
        f"# The page next to {report.peer}\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} cores, "
        f"headless Chromium without a GPU on the same cores as the servers. {report.tokens_per_second:.0f} tokens/s "
        f"arrived. Each figure is the median of {len(report.contests[0].pairs)} rounds."
    )
    ratio_head = ("", "computing time, Ebb's page over its peer")
    return "\n\n".join((heading, report_table(head, rows), report_table(ratio_head, ratios))) + "\n"


def _rows(contest: Contest, peer: str) -> list[tuple[str, ...]]:
    def row(page: str, seen: Sequence[Seen]) -> tuple[str, ...]:
        smooth = [each.smooth for each in seen]
        return (
            contest.name,
            page,
            f"{median([each.seconds for each in seen]):.1f}",
            f"{median([each.computed_seconds for each in smooth]):.1f}",
            f"{median([each.frames for each in smooth]):,.0f}",
            f"{median([each.dropped for each in smooth]):,.0f}",
            f"{median([each.longest_gap_ms for each in smooth]):,.0f}",
            f"{median([each.long_tasks for each in smooth]):,.0f}",
            f"{median([each.longest_task_ms for each in smooth]):,.0f}",
        )

    pairs = contest.pairs
    return [row("Ebb", [pair.ebb for pair in pairs]), row(peer, [pair.peer for pair in pairs])]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write page_peer.json and page_peer.md. Return 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.page_peer", description=__doc__)
    parser.add_argument("--tokens", type=int, default=4_000, help="number of tokens of each answer")
    parser.add_argument("--rate", type=float, default=200.0, help="tokens per second")
    parser.add_argument("--messages", type=int, default=2_000, help="number of messages of the long chat")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(argv)
    program = install_open_webui(load_settings({}).cache_dir, TORCH_CPU_INDEX)
    with tempfile.TemporaryDirectory(prefix="ebb-page-peer-", ignore_cleanup_errors=True) as root:
        report = asyncio.run(_measure(given, program, Path(root)))
    show_results(given.out, "page_peer", asdict(report), to_markdown(report))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
