"""`make screenshots`: pictures of every view of the page, with a real server and model.

Each view is shown light, light in Chinese, dark, and on a phone.
"""

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from bench.chromium import launch_chromium
from tests.conftest import default_cache_dir
from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.server_process import ebb_serve
from tests.e2e.showcase import showcase
from tests.e2e.views import Views

SCREENS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "color_scheme": "light"},
}
FLAGS = ("--cache-dir", str(default_cache_dir()), "--kv-memory", "128MiB", "--redis-memory", "256MiB", "--share-links")

FIRST = "What should I look at before I sail out of a harbour?"
SECOND = "Add one sentence about the tides."
CALM = {"temperature": 0, "repetition_penalty": 1.1, "max_tokens": 320}


async def take(views: Views, chat: ChatPage, folder: Path, screen: str, names: Sequence[str]) -> None:
    """Save a screenshot of each view in `folder`, named after the view and the screen.

    names: names of the views; empty for all.
    """
    other_tab = await chat.page.context.new_page()
    await other_tab.goto("/health")
    await chat.page.bring_to_front()
    for view in views.all():
        if names and view.__name__ not in names:
            continue
        await chat.page.goto("about:blank")
        await view()
        await chat.page.evaluate("document.fonts.ready")
        await chat.page.screenshot(path=folder / f"{view.__name__}-{screen}.png")
        # A shared chat has no scripts.
        if screen == "light" and view != views.shared:
            # The steps to a view find everything by its English name.
            await speak(other_tab, chat.page, "zh")
            await chat.page.screenshot(path=folder / f"{view.__name__}-chinese.png")
            await speak(other_tab, chat.page, "en")


async def speak(other_tab: Page, page: Page, language: str) -> None:
    """Choose a language in another tab, and wait until the page has it."""
    await other_tab.evaluate("chosen => localStorage.setItem('ebb-language', chosen)", language)
    await page.locator(f"html[lang={language}]").wait_for()
    await page.evaluate("document.fonts.ready")


async def prepare(chat: ChatPage) -> str:
    """Create the chats that the pictures show. Return the id of the chat that is resumed later."""
    for title, archived in (("Tides and tables", False), ("A chat of last year", True)):
        await chat.take_in(showcase(title, archived))
    for title in ("Knots for beginners", "Packing for the weekend"):
        await chat.new_chat(tokens=1, title=title)
    resumed = await chat.open_new_chat(tokens=1, title="Before we sail")
    await chat.page.request.patch(f"/api/conversations/{resumed}", data={"params": CALM, "pinned": True})
    await chat.send(FIRST)
    await chat.page.get_by_test_id("receipt").wait_for(timeout=ANSWER_MS)
    return resumed


async def resume(chat: ChatPage, conversation: str) -> None:
    """Send the next turn after the server was restarted.

    A second page shows `/live`, because the server samples its figures only while a client follows them.
    """
    watching = await chat.page.context.new_page()
    await watching.goto("/live")
    await chat.page.goto(f"/c/{conversation}")
    await chat.send(SECOND)
    await chat.page.get_by_test_id("receipt").nth(1).wait_for(timeout=ANSWER_MS)


async def page_of(browser: Browser, url: str, options: dict[str, Any]) -> ChatPage:
    context = await browser.new_context(base_url=url, locale="en-GB", **options)
    return ChatPage(await context.new_page())


async def main(folder: Path, names: Sequence[str]) -> None:
    """Take screenshots of the views with these names, or of all, on all screens, and save them in `folder`."""
    with tempfile.TemporaryDirectory() as state:
        async with async_playwright() as playwright:
            browser = await launch_chromium(playwright)
            with ebb_serve(Path(state), *FLAGS) as url:
                conversation = await prepare(await page_of(browser, url, SCREENS["light"]))
            with ebb_serve(Path(state), *FLAGS) as url:
                await resume(await page_of(browser, url, SCREENS["light"]), conversation)
                for screen, options in SCREENS.items():
                    chat = await page_of(browser, url, options)
                    await take(Views(chat, conversation, phone=screen == "phone"), chat, folder, screen, names)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
    print(f"The pictures were written to {sys.argv[1]}")
