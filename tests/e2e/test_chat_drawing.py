"""How much of a long answer the browser styles again while the answer is drawn over many frames."""

import json
from collections.abc import Callable

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.showcase import long_chat
from tests.sizes import PAGE

pytestmark = PAGE

SETTLED = """() => new Promise((resolve) => {
    let [drawn, still] = [0, 0];
    const frame = () => {
        const now = document.querySelectorAll("article *").length;
        [drawn, still] = [now, now === drawn ? still + 1 : 0];
        if (still === 10) resolve(drawn);
        else requestAnimationFrame(frame);
    };
    frame();
})"""
"""Waits until ten frames have added nothing to the messages. Returns the number of elements in them."""

CONSTRUCTS: dict[str, Callable[[int], str]] = {
    "items": lambda number: f"- item {number}\n\n  more\n",
    "quote": lambda number: f"> quoted **{number}**\n>\n",
    "folded": lambda number: ("" if number else "<details open>\n\n") + f"folded **{number}**\n\n",
    "item": lambda number: ("" if number else "- item\n\n") + f"  more **{number}**\n\n",
    "note": lambda number: ("" if number else "word[^1]\n\n[^1]: note\n\n") + f"    more **{number}**\n\n",
    "paragraphs": lambda number: f"paragraph **{number}**\n\n",
    "rows": lambda number: ("" if number else "| a | b |\n| - | - |\n") + f"| {number} | c |\n",
}
COUNT = 900
MOST_STYLED = 1_000
"""The page without messages has some hundred elements, and a frame draws some hundred. Each answer has thousands."""


@pytest.mark.parametrize("construct", CONSTRUCTS.values(), ids=list(CONSTRUCTS))
async def test_frame_styles_only_what_it_draws(
    chat: ChatPage, browser: Browser, construct: Callable[[int], str]
) -> None:
    file = long_chat("All at once", 2)
    file["conversations"][0]["messages"][1]["content"] = "".join(map(construct, range(COUNT))) + "\nThe end."
    conversation = await chat.take_in(file)
    await browser.start_tracing(page=chat.page, categories=["-*", "devtools.timeline"])
    await chat.page.goto(f"/c/{conversation}")
    await expect(chat.answers).to_contain_text("The end.")
    elements = await chat.page.evaluate(SETTLED)
    events = json.loads(await browser.stop_tracing())["traceEvents"]
    styled = [each["args"]["elementCount"] for each in events if "elementCount" in each.get("args", {})]
    assert elements > MOST_STYLED
    assert max(styled) < MOST_STYLED
