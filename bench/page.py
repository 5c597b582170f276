"""`python -m bench.page`: whether the page keeps up with a fast, long answer and with a long chat.

Runs in Chromium, against the real server with an engine that replays an answer at a fixed rate: Markdown of all kinds,
one block of code, one table, diagrams with two open previews, and texts of one construct (`bench.page_texts`). Lists of
few and of many chats follow (`bench.page_lists`). A frame counts as dropped if it comes more than
`FRAME_GAP_MS` after its predecessor. A long task is one that the browser itself reports, of over 50 ms. The computing
time of a task separates the page's work from the load of a busy machine. The targets are about the time that a person
waits.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from statistics import median, median_low
from typing import TypeVar

from playwright.async_api import Browser, Page, async_playwright

from bench.api.replay_server import replay_server
from bench.chromium import launch_chromium
from bench.ending import run_to_end
from bench.long_chat import ebb_file, text_of
from bench.machine import Machine, describe_machine
from bench.page_answer import MARKDOWN, Answer, code, drawings, table, words_of
from bench.page_lists import ListFigures, fill, lists_table, measure_lists
from bench.page_lists import targets as list_targets
from bench.page_texts import TextFigures, measure_texts, texts_table
from bench.page_texts import targets as text_targets
from bench.page_visit import ANSWERED, POLL_MS, SETTLED_MS, new_page
from bench.report import RESULTS, Target, show_results
from bench.report_tables import table as report_table
from bench.report_tables import targets_table
from bench.smoothness import FRAME_GAP_MS, WATCH, Smoothness, measured

MAX_TASK_MS = 50.0
MAX_OPEN_SECONDS = 1.0
CODE_LINES, TABLE_ROWS, DRAWINGS = 3_000, 1_000, 20
USABLE = """text => {
    const last = [...document.querySelectorAll("article")].at(-1);
    return last?.textContent.includes(text) && document.activeElement?.id === "message" ? performance.now() : false;
}"""
SCROLL_UP = """async () => {
    const scroller = document.querySelector("[data-scroller]");
    const drawn = new Set();
    for (let still = 0; still < 60; still = scroller.scrollTop === 0 ? still + 1 : 0) {
        scroller.scrollTop -= 400;
        await new Promise(requestAnimationFrame);
        for (const { dataset } of document.querySelectorAll("article")) drawn.add(dataset.message);
    }
    return drawn.size;
}"""


Figures = TypeVar("Figures", Smoothness, TextFigures, ListFigures)


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over all answers, the long chat, the texts of one construct, and the lists of chats.

    messages_drawn: messages of the long chat that were drawn while scrolling to its beginning.
    open_seconds: time from opening the long chat's address until its end is visible and the message box has the focus.
    opening: smoothness while the long chat opens.
    """

    tokens_per_second: float
    messages_drawn: int
    open_seconds: float
    opening: Smoothness
    stretches: tuple[Smoothness, ...]
    texts: tuple[TextFigures, ...]
    lists: tuple[ListFigures, ...]


@dataclass(frozen=True, slots=True)
class PageReport:
    """One run of several rounds.

    typical: the median of the rounds for each figure by itself.
    """

    measured_on: str
    machine: Machine
    tokens: int
    messages: int
    rounds: tuple[Round, ...]
    typical: Round


def targets(report: PageReport) -> list[Target]:
    """List the page's targets."""
    typical = report.typical
    moving, all_of_them = typical.stretches, (typical.opening, *typical.stretches)
    return [
        Target("time until a long chat is usable, s", typical.open_seconds, MAX_OPEN_SECONDS, at_least=False),
        Target("messages drawn while scrolling to its beginning", typical.messages_drawn, report.messages, True),
        *(Target(f"{each.name}: longest task, ms", each.longest_task_ms, MAX_TASK_MS, False) for each in all_of_them),
        *(Target(f"{each.name}: frames dropped", each.dropped, 0, False) for each in moving),
        *text_targets(typical.texts),
        *list_targets(typical.lists),
    ]


async def _stream(browser: Browser, rate: float, answer: Answer, root: Path) -> tuple[Smoothness, float]:
    """Ask for an answer. Return the page's smoothness and the tokens received per second."""
    flags = ("--window", str(2 * answer.tokens + 8192), "--tokens", str(answer.written(root)))
    params = {"temperature": 0, "max_tokens": answer.tokens, "min_tokens": answer.tokens, "ignore_eos": True}
    async with replay_server(root / "state", 1 / rate, flags) as server:
        page = await new_page(browser, server)
        made = await (await page.request.post("/api/conversations", data={"params": params})).json()
        await page.goto(f"/c/{made['id']}")
        await page.get_by_label("Message", exact=True).fill("Tell me everything about the tides.")
        # A person needs longer to type. Until then, the page, the server and the driver of the browser are still busy.
        await page.wait_for_timeout(SETTLED_MS)

        async def ask() -> None:
            await page.keyboard.press("Enter")
            if answer.has_drawings:
                await _open_previews(page)
            most_ms = (2 * answer.tokens / rate + 30) * 1e3
            await page.wait_for_function(ANSWERED, timeout=most_ms, polling=POLL_MS)

        smooth, _ = await measured(page, f"{answer.name} streamed", ask())
        if answer.has_drawings:
            await page.get_by_role("img", name="Diagram").last.wait_for()
        stored = await (await page.request.get(f"/api/conversations/{made['id']}")).json()
        assert stored["messages"][-1]["usage"]["completion_tokens"] == answer.tokens
        await page.context.close()
    return smooth, answer.tokens / smooth.seconds


async def _open_previews(page: Page) -> None:
    """Open the first previews of an answer, one of HTML and one of SVG, as soon as their code is complete."""
    for language in ("HTML", "SVG"):
        await page.get_by_role("button", name="Preview", exact=True).first.click()
        await page.get_by_title(f"Preview of {language}").wait_for()


async def _long_chat(browser: Browser, messages: int, root: Path) -> tuple[float, Smoothness, Smoothness, int]:
    """Open a chat of `messages` messages, and scroll to its beginning."""
    async with replay_server(root) as server:
        page = await new_page(browser, server)
        said = [text_of(number) for number in range(messages)]
        response = await page.request.post("/api/import", data=ebb_file(said))
        conversation = (await response.json())["imported"][0]
        await page.add_init_script(f"({WATCH})()")

        async def open_it() -> float:
            await page.goto(f"/c/{conversation}", wait_until="commit")
            found = await page.wait_for_function(USABLE, arg=f"Message {messages - 1} ", polling="raf")
            usable_ms = float(await found.json_value())
            # Messages above the screen are drawn a few frames later.
            await page.wait_for_timeout(SETTLED_MS)
            return usable_ms

        opening, milliseconds = await measured(page, f"{messages:,} messages opened", open_it())
        scrolled, drawn = await measured(page, f"{messages:,} messages scrolled", page.evaluate(SCROLL_UP))
        await page.context.close()
    return milliseconds / 1e3, opening, scrolled, int(drawn)


async def _measure(tokens: int, rate: float, messages: int, root: Path, num_rounds: int) -> PageReport:
    """Measure in rounds, in separate folders in `root`."""
    rounds, databases = list[Round](), await fill(root)
    folders = [root / str(number) for number in range(num_rounds)]
    for folder in folders:
        print(f"round {len(rounds) + 1} of {len(folders)}", flush=True)
        folder.mkdir()
        rounds.append(await _measure_round(tokens, rate, messages, folder, databases))
    today, machine = date.today().isoformat(), describe_machine()
    return PageReport(today, machine, tokens, messages, tuple(rounds), _typical(rounds))


def _typical(rounds: Sequence[Round]) -> Round:
    return Round(
        median(each.tokens_per_second for each in rounds),
        median_low(each.messages_drawn for each in rounds),
        median(each.open_seconds for each in rounds),
        _median_of([each.opening for each in rounds]),
        *(
            tuple(_median_of(same) for same in zip(*parts, strict=True))
            for parts in zip(*((each.stretches, each.texts, each.lists) for each in rounds), strict=True)
        ),
    )


def _median_of(figures: Sequence[Figures]) -> Figures:
    """Return the median of each number. median_low keeps counts whole."""
    numbers = [name for name in asdict(figures[0]) if name != "name"]
    return replace(figures[0], **{name: median_low(getattr(each, name) for each in figures) for name in numbers})


async def _measure_round(tokens: int, rate: float, messages: int, root: Path, databases: Mapping[int, Path]) -> Round:
    answers = (
        Answer(f"{tokens:,} tokens", words_of(MARKDOWN), tokens),
        Answer.whole(f"{CODE_LINES:,} lines of code", code(CODE_LINES), tokens),
        Answer.whole(f"{TABLE_ROWS:,} rows of a table", table(TABLE_ROWS), tokens),
        Answer.whole(f"{DRAWINGS} diagrams and previews", drawings(DRAWINGS), tokens, has_drawings=True),
    )
    async with async_playwright() as playwright:
        browser = await launch_chromium(playwright)
        streamed = [await _stream(browser, rate, answer, root / str(n)) for n, answer in enumerate(answers)]
        usable, opening, scrolled, drawn = await _long_chat(browser, messages, root / "chat")
        texts = await measure_texts(browser, root / "texts")
        lists = await measure_lists(browser, databases, root / "lists")
        await browser.close()
    stretches = (*(smooth for smooth, _ in streamed), scrolled)
    return Round(streamed[0][1], drawn, usable, opening, stretches, texts, lists)


def to_markdown(report: PageReport) -> str:
    """Format the tables."""
    machine, typical = report.machine, report.typical
    head = (
        "",
        "seconds",
        "frames",
        f"gaps over {FRAME_GAP_MS:.0f} ms",
        "longest gap, ms",
        "tasks over 50 ms",
        "longest, ms",
        "of it on the CPU, ms",
        "most CPU of a task, ms",
        "stolen by the host, ms",
    )
    rows = [
        (
            each.name,
            f"{each.seconds:.1f}",
            f"{each.frames:,}",
            f"{each.dropped}",
            f"{each.longest_gap_ms:.0f}",
            f"{each.long_tasks}",
            f"{each.longest_task_ms:.0f}",
            f"{each.longest_task_computed_ms:.0f}",
            f"{each.most_computed_ms:.0f}",
            f"{each.stolen_ms:.0f}",
        )
        for each in (*typical.stretches, typical.opening)
    ]
    heading = (
        f"# The page\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} cores, headless Chromium "
        f"without a GPU on the same cores as the server. {typical.tokens_per_second:.0f} tokens/s of Markdown arrived; "
        f"a chat of {report.messages:,} messages was usable {typical.open_seconds:.2f} s after its address was opened. "
        f"Each figure is the median of the rounds in page.json ({len(report.rounds)})."
    )
    tables = (report_table(head, rows), texts_table(typical.texts), lists_table(typical.lists))
    return "\n\n".join((heading, targets_table(targets(report)), *tables)) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write page.json and page.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000, help="number of tokens of the streamed answer")
    parser.add_argument("--rate", type=float, default=200.0, help="tokens per second")
    parser.add_argument("--messages", type=int, default=2_000, help="number of messages of the long chat")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-page-", ignore_cleanup_errors=True) as root:
        report = run_to_end(_measure(given.tokens, given.rate, given.messages, Path(root), given.rounds))
    held = [asdict(target) | {"met": target.met} for target in targets(report)]
    passed = all(target.met for target in targets(report))
    show_results(given.out, "page", asdict(report) | {"targets": held, "passed": passed}, to_markdown(report))
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
