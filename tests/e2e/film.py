"""`make film`: an animation of a chat that continues after the server was killed, and of its receipt."""

import asyncio
import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.async_api import Page, async_playwright

from bench.chromium import launch_chromium
from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.screenshots import FLAGS, SECOND, page_of, prepare
from tests.e2e.server_process import ServerProcess, ebb_process

SCREEN = {"viewport": {"width": 960, "height": 600}, "color_scheme": "light"}
FRAME_SECONDS = 0.2
HOLD_SECONDS = 3.0
MAX_SECONDS = 2.0
"""Most seconds that a frame is shown unless held. Longer waits, such as the server's start, are cut short."""


class Film:
    """Screenshots of a page, played in real time except for long waits, which are cut short."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[Image.Image] = []
        self._seconds: list[float] = []
        self._began = 0.0

    async def take(self) -> None:
        """Add a frame that is shown until the next one."""
        shot = await self._page.screenshot()
        now = time.monotonic()
        if len(self._seconds) < len(self._frames):
            self._seconds.append(min(now - self._began, MAX_SECONDS))
        self._began = now
        self._frames.append(Image.open(io.BytesIO(shot)).convert("RGB"))

    async def hold(self) -> None:
        """Add a frame that is shown for HOLD_SECONDS."""
        await self.take()
        self._seconds.append(HOLD_SECONDS)

    async def roll(self, until: "asyncio.Future[None]") -> None:
        """Add a frame every FRAME_SECONDS until the future `until` is done."""
        while not until.done():
            await self.take()
            await asyncio.wait((until,), timeout=FRAME_SECONDS)
        await until

    def save(self, file: Path) -> None:
        """Save the frames to `file` as an animated WebP that loops forever."""
        durations = [round(seconds * 1e3) for seconds in self._seconds]
        first, *others = self._frames
        first.save(file, save_all=True, append_images=others, duration=durations, loop=0, quality=70, method=6)


async def play(chat: ChatPage, server: ServerProcess, film: Film) -> None:
    """Film a chat whose server is killed between two turns. The second turn restores the first one's KV from Redis."""
    receipts = chat.page.get_by_test_id("receipt")
    await film.take()
    server.kill()
    away = chat.page.get_by_text("Server unreachable")
    await chat.page.evaluate("window.dispatchEvent(new Event('online'))")
    await away.wait_for()
    await film.take()
    await asyncio.to_thread(server.start)
    await away.wait_for(state="detached")
    await film.take()
    await chat.composer.fill(SECOND)
    await film.take()
    await chat.composer.press("Enter")
    await film.roll(asyncio.ensure_future(receipts.nth(1).wait_for(timeout=ANSWER_MS)))
    await film.hold()
    await receipts.last.get_by_role("button").click()
    await chat.page.get_by_text("Why wasn't more reused").wait_for()
    await chat.thread.evaluate("element => element.scrollTo(0, element.scrollHeight)")
    await film.hold()


async def main(file: Path) -> None:
    """Film the chat and save the animation to `file`."""
    with tempfile.TemporaryDirectory() as state, ebb_process(Path(state), *FLAGS) as server:
        async with async_playwright() as playwright:
            browser = await launch_chromium(playwright)
            chat = await page_of(browser, server.url, SCREEN)
            await prepare(chat)
            film = Film(chat.page)
            await play(chat, server, film)
            await browser.close()
    film.save(file)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
    print(f"The film was written to {sys.argv[1]}")
