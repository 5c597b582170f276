"""`python -m bench.page_streaming`: whether the page keeps up with a fast, long answer, and with a long chat.

In Chromium, on the real server with an engine that replays Markdown at a fixed rate. A frame is dropped where two of
them are more than `FRAME_GAP_MS` apart; a long task is what the browser itself reports as one: over 50 ms. How long the
longest of them computed tells the page's work from what a busy machine adds; the promise is about what a person waits.
"""

import argparse
import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Page, async_playwright

from bench.api.replay_server import replay_server
from bench.machine import Machine, describe_machine
from bench.page_answer import ANSWER
from bench.report import Target
from bench.report_tables import table, targets_table
from bench.rounding import rounded

T = TypeVar("T")

RESULTS = Path(__file__).parent / "results"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MOST_TASK_MS = 50.0
MOST_OPEN_SECONDS = 1.0
FRAME_GAP_MS = 50.0
"""Three frames of 60 Hz: what a person sees as a jerk."""
RENDERER, TASK = "CrRendererMain", "ThreadControllerImpl::RunTask"
"""What Chromium's traces call a page's thread, and what such a thread does in one go."""

WATCH = """() => {
    const seen = window.seen = {tasks: [], gaps: []};
    new PerformanceObserver(list => seen.tasks.push(...list.getEntries().map(({duration}) => duration)))
        .observe({type: "longtask"});
    let last = performance.now();
    const frame = () => {
        const now = performance.now();
        seen.gaps.push(now - last);
        last = now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""
ANSWERED = """() => {
    const status = [...document.querySelectorAll("article[data-status]")].at(-1)?.dataset.status;
    return status !== undefined && status !== "in_progress";
}"""
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


@dataclass(frozen=True, slots=True)
class Smoothness:
    """Of a stretch of time on the page. dropped: frames that came more than FRAME_GAP_MS after the one before.
    longest_task_cpu_ms: of the task that computed longest, which need not be the one that took longest.
    """

    name: str
    seconds: float
    frames: int
    dropped: int
    longest_gap_ms: float
    long_tasks: int
    longest_task_ms: float
    longest_task_cpu_ms: float


@dataclass(frozen=True, slots=True)
class PageReport:
    """open_seconds: from opening the address of the long chat until its end is there and one can type."""

    measured_on: str
    machine: Machine
    tokens: int
    tokens_per_second: float
    messages: int
    messages_drawn: int
    open_seconds: float
    stretches: tuple[Smoothness, ...]


def targets(report: PageReport) -> list[Target]:
    """What the page promises."""
    found = [
        Target("a long chat is usable after, s", report.open_seconds, MOST_OPEN_SECONDS, at_least=False),
        Target("messages of it drawn on the way to its beginning", report.messages_drawn, report.messages, True),
    ]
    for each in report.stretches:
        found.append(Target(f"{each.name}: longest task, ms", each.longest_task_ms, MOST_TASK_MS, at_least=False))
        found.append(Target(f"{each.name}: frames dropped", each.dropped, 0, at_least=False))
    return found


async def _measured(page: Page, name: str, doing: Awaitable[T]) -> tuple[Smoothness, T]:
    """What the page does meanwhile; also what came of `doing`."""
    browser = page.context.browser
    assert browser is not None
    await browser.start_tracing(page=page, categories=["-*", "toplevel"])
    await page.evaluate(WATCH)
    result = await doing
    seen: dict[str, list[float]] = await page.evaluate("window.seen")
    cpu_ms = _task_cpu_ms(json.loads(await browser.stop_tracing())["traceEvents"])
    tasks, gaps = seen["tasks"], seen["gaps"]
    smooth = Smoothness(
        name,
        sum(gaps) / 1e3,
        len(gaps),
        sum(gap > FRAME_GAP_MS for gap in gaps),
        max(gaps, default=0.0),
        len(tasks),
        max(tasks, default=0.0),
        max(cpu_ms),
    )
    return smooth, result


def _task_cpu_ms(events: Sequence[Mapping[str, Any]]) -> list[float]:
    """Of the tasks of the thread that did most, which is the page's."""
    renderers = {(each["pid"], each["tid"]) for each in events if each.get("args", {}).get("name") == RENDERER}
    tasks: dict[tuple[int, int], list[float]] = {}
    for each in events:
        thread = (each["pid"], each["tid"])
        if each["name"] == TASK and thread in renderers:
            tasks.setdefault(thread, []).append(each.get("tdur", 0) / 1e3)
    return max(tasks.values(), key=sum)


async def _stream(page: Page, tokens: int, seconds: float) -> tuple[Smoothness, float]:
    """Ask for an answer of so many tokens; returns also the tokens that came in a second."""
    params = {"temperature": 0, "max_tokens": tokens, "min_tokens": tokens, "ignore_eos": True}
    made = await (await page.request.post("/api/conversations", data={"params": params})).json()
    await page.goto(f"/c/{made['id']}")
    await page.get_by_label("Message", exact=True).fill("Tell me everything about the tides.")

    async def ask() -> None:
        await page.keyboard.press("Enter")
        await page.wait_for_function(ANSWERED, timeout=(2 * seconds + 30) * 1e3)

    smooth, _ = await _measured(page, f"{tokens:,} tokens streamed", ask())
    stored = await (await page.request.get(f"/api/conversations/{made['id']}")).json()
    assert stored["messages"][-1]["usage"]["completion_tokens"] == tokens
    return smooth, tokens / smooth.seconds


async def _long_chat(page: Page, messages: int) -> tuple[float, Smoothness, int]:
    """Open a chat of so many messages, and scroll to its beginning."""
    response = await page.request.post("/api/import", data=_file(messages))
    conversation = (await response.json())["imported"][0]
    await page.goto(f"/c/{conversation}", wait_until="commit")
    found = await page.wait_for_function(USABLE, arg=f"Message {messages - 1} ", polling="raf")
    milliseconds = float(await found.json_value())
    smooth, drawn = await _measured(page, f"{messages:,} messages scrolled", page.evaluate(SCROLL_UP))
    return milliseconds / 1e3, smooth, int(drawn)


def _file(messages: int) -> dict[str, Any]:
    """A chat to be imported; every answer is Markdown."""
    ids = [None, *(f"msg_page_streaming_{number}" for number in range(messages))]
    said = [
        {
            "id": ids[number + 1],
            "parent_id": ids[number],
            "role": ("user", "assistant")[number % 2],
            "content": f"Message {number} of the log." + (ANSWER if number % 2 else ""),
            "status": "complete",
            "created_at": float(number),
            "completed_at": float(number),
        }
        for number in range(messages)
    ]
    chat: dict[str, Any] = {
        "id": "conv_page_streaming",
        "title": "A long log",
        "title_source": "user",
        "system_prompt": None,
        "params": {},
        "pinned": False,
        "archived": False,
        "created_at": 0.0,
        "updated_at": 0.0,
        "head_id": ids[-1],
        "messages": said,
    }
    return {"format": "ebb-conversations", "format_version": 1, "exported_at": 0.0, "conversations": [chat]}


async def _measure(tokens: int, rate: float, messages: int, root: Path) -> PageReport:
    (root / "words.md").write_text(ANSWER, encoding="utf-8")
    flags = ("--window", str(2 * tokens + 8192), "--words", str(root / "words.md"))
    chromium = next(found for name in BROWSERS if (found := shutil.which(name)) is not None)
    async with replay_server(root / "state", 1 / rate, flags) as server, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = await browser.new_context(base_url=server.base_url, viewport={"width": 1280, "height": 800})
        streamed, arrived = await _stream(await context.new_page(), tokens, tokens / rate)
        opened, scrolled, drawn = await _long_chat(await context.new_page(), messages)
        await browser.close()
    return PageReport(
        date.today().isoformat(), describe_machine(), tokens, arrived, messages, drawn, opened, (streamed, scrolled)
    )


def to_markdown(report: PageReport) -> str:
    """The tables, for people."""
    machine = report.machine
    head = (
        "",
        "seconds",
        "frames",
        f"gaps over {FRAME_GAP_MS:.0f} ms",
        "longest gap, ms",
        "tasks over 50 ms",
        "longest, ms",
        "of CPU, ms",
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
            f"{each.longest_task_cpu_ms:.0f}",
        )
        for each in report.stretches
    ]
    heading = (
        f"# The page\n\nMeasured on {report.measured_on}: {machine.cpu}, {machine.cores} cores, headless Chromium "
        f"without a GPU on the same cores as the server. {report.tokens_per_second:.0f} tokens/s of Markdown arrived; "
        f"a chat of {report.messages:,} messages was usable {report.open_seconds:.2f} s after its address was opened."
    )
    return "\n\n".join((heading, targets_table(targets(report)), table(head, rows))) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write page.json and page.md. Returns 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.page_streaming", description=__doc__)
    parser.add_argument("--tokens", type=int, default=20_000, help="of the streamed answer")
    parser.add_argument("--rate", type=float, default=200.0, help="tokens a second")
    parser.add_argument("--messages", type=int, default=2_000, help="of the long chat")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-page-", ignore_cleanup_errors=True) as root:
        report = asyncio.run(_measure(given.tokens, given.rate, given.messages, Path(root)))
    held = [asdict(target) | {"met": target.met} for target in targets(report)]
    passed = all(target.met for target in targets(report))
    whole = rounded(asdict(report) | {"targets": held, "passed": passed})
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "page.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (given.out / "page.md").write_text(to_markdown(report), encoding="utf-8")
    print(to_markdown(report))
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(main())
