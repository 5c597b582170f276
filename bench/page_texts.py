"""How the page streams and opens answers of one construct repeated, as small models write them.

Each text was once parsed in time quadratic in its length. A text is streamed, and a longer one is stored and opened, at
the processor's full speed and at a part of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page

from bench.api.replay_server import replay_server
from bench.long_chat import ebb_file
from bench.page_answer import Answer
from bench.page_visit import ANSWERED, POLL_MS, SETTLED_MS, new_page
from bench.report import Target
from bench.report_tables import table
from bench.smoothness import WATCH, longest_task_ms

SPEEDS = (1, 6)
"""What the processor of the page is slowed down by: a desktop's, and a slow phone's."""
MAX_TASK_MS = {1: 100.0, 6: 300.0}
MAX_OPEN_SECONDS = 1.5
PIECE_SECONDS = 0.003
CLICKED = """id => {
    const began = performance.now();
    document.querySelector(`a[href="/c/${id}"]`).click();
    return began;
}"""
SHOWN = """id => {
    const answer = [...document.querySelectorAll("article[data-status]")].at(-1);
    return location.pathname.endsWith(id) && answer?.textContent.includes("THE END") ? performance.now() : false;
}"""


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A construct that is repeated. `unit` makes the unit of a number.

    streamed, stored: units of the streamed answer and of the opened one.
    at_once: units in one piece of the streamed answer.
    """

    name: str
    unit: Callable[[int], str]
    streamed: int
    stored: int
    before: str = ""
    after: tuple[str, ...] = ()
    at_once: int = 1

    def pieces(self) -> tuple[str, ...]:
        """Return the pieces in which the answer is streamed."""
        units = ["".join(map(self.unit, range(n, n + self.at_once))) for n in range(0, self.streamed, self.at_once)]
        return (self.before, *units, *self.after, "\n\nTHE END")

    def text(self) -> str:
        """Return the stored answer."""
        return "".join((self.before, *map(self.unit, range(self.stored)), *self.after, "\n\nTHE END"))


def _source(number: int) -> str:
    return f"[^{number}]: Smith, A. (2001).\n"


def _item(number: int) -> str:
    return f"- item {number}\n\n  more\n\n  > quoted\n\n"


SOURCES = ("\n\n", *map(_source, range(1_000)))
SECTION = "## Head\n\nThe tide comes in, and the tide goes out again.\n\n- one\n- two\n\n"
TEXTS = (
    RepeatedText("elements without an end", lambda _: "<b>", 4_000, 16_000),
    RepeatedText("lines that continue an item", lambda _: "Thank you for reading.\n", 4_000, 4_000, "- a\n"),
    RepeatedText("a list of sources", _source, 2_000, 8_000),
    RepeatedText("references and their sources", lambda number: f"word[^{number}] ", 1_000, 1_000, after=SOURCES),
    RepeatedText("formulas without an end", lambda _: "$$x\n", 4_000, 16_000),
    RepeatedText("folded parts", lambda _: "<details>\na\n</details>\n\n", 2_000, 16_000),
    RepeatedText("a list of paragraphs and quotes", _item, 1_000, 4_000),
    RepeatedText("one long quote", lambda number: f"> quoted **{number}**\n>\n", 2_000, 8_000),
    RepeatedText(
        "one long folded part",
        lambda number: f"folded **{number}**\n\n",
        2_000,
        8_000,
        "<details open>\n\n",
        ("</details>",),
    ),
    RepeatedText("verse", lambda _: "roses are red  \n", 3_000, 9_000),
    RepeatedText("emphasis", lambda _: "**very** ", 5_000, 16_000),
    RepeatedText("208 kB at once", lambda _: SECTION, 2_900, 2_900, at_once=2_900),
)


@dataclass(frozen=True, slots=True)
class TextFigures:
    """One text at one speed.

    slowdown: what the page's processor is slowed down by.
    streamed_task_ms, open_task_ms: longest task while the answer is streamed, and while the stored one opens.
    open_seconds: time from the click in the list of chats until the end of the stored answer is visible.
    """

    name: str
    slowdown: int
    streamed_task_ms: float
    open_seconds: float
    open_task_ms: float


def targets(figures: Sequence[TextFigures]) -> list[Target]:
    """List the targets of the texts."""
    found = list[Target]()
    for each in figures:
        name = each.name + (f", processor {each.slowdown} times slower" if each.slowdown > 1 else "")
        found += [
            Target(f"{name} streamed: longest task, ms", each.streamed_task_ms, MAX_TASK_MS[each.slowdown], False),
            Target(f"{name} opened: time, s", each.open_seconds, MAX_OPEN_SECONDS, False),
        ]
    return found


def texts_table(figures: Sequence[TextFigures]) -> str:
    """Format the figures of the texts."""
    head = ("", "processor slowed by", "longest task streamed, ms", "opened, s", "longest task opened, ms")
    rows = [
        (
            each.name,
            str(each.slowdown),
            f"{each.streamed_task_ms:.0f}",
            f"{each.open_seconds:.2f}",
            f"{each.open_task_ms:.0f}",
        )
        for each in figures
    ]
    return table(head, rows)


async def measure_texts(browser: Browser, root: Path) -> tuple[TextFigures, ...]:
    """Stream and open each text at each speed."""
    return tuple([await _measure(browser, text, speed, root) for text in TEXTS for speed in SPEEDS])


async def _measure(browser: Browser, text: RepeatedText, slowdown: int, root: Path) -> TextFigures:
    folder = root / f"{TEXTS.index(text)}-{slowdown}"
    answer = Answer(text.name, text.pieces(), len(text.pieces()))
    flags = ("--window", str(2 * answer.tokens + 8192), "--tokens", str(answer.written(folder)))
    async with replay_server(folder / "state", PIECE_SECONDS, flags) as server:
        page = await new_page(browser, server)
        made = await page.request.post("/api/import", data=ebb_file(["Go on.", text.text()]))
        [stored] = (await made.json())["imported"]
        client = await page.context.new_cdp_session(page)
        await page.goto("/")
        await page.get_by_label("Message", exact=True).wait_for()
        await client.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        streamed_ms = await _stream(page, answer)
        opened = await _open(page, stored)
        await page.context.close()
    return TextFigures(text.name, slowdown, streamed_ms, *opened)


async def _stream(page: Page, answer: Answer) -> float:
    """Ask for the answer. Return the longest task until it is complete, in ms."""
    await page.get_by_label("Message", exact=True).fill("Tell me everything about the tides.")
    await page.wait_for_timeout(SETTLED_MS)
    await page.evaluate(WATCH)
    await page.keyboard.press("Enter")
    most_ms = (10 * answer.tokens * PIECE_SECONDS + 60) * 1e3
    await page.wait_for_function(ANSWERED, timeout=most_ms, polling=POLL_MS)
    await page.wait_for_timeout(SETTLED_MS)
    return await longest_task_ms(page)


async def _open(page: Page, conversation: str) -> tuple[float, float]:
    """Open a stored chat from another one. Return the seconds until its end is visible, and the longest task in ms."""
    await page.evaluate(WATCH)
    began = await page.evaluate(CLICKED, conversation)
    shown = await page.wait_for_function(SHOWN, arg=conversation, polling="raf", timeout=120_000)
    seconds = (float(await shown.json_value()) - float(began)) / 1e3
    await page.wait_for_timeout(SETTLED_MS)
    return seconds, await longest_task_ms(page)
