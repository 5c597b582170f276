"""Tab of Chromium for the benchmarks of the page, and the question whether an answer is complete in it."""

from playwright.async_api import Browser, Page

from bench.server import EbbServer

POLL_MS, SETTLED_MS = 500, 1_000
"""Polling interval for the end of an answer, and the time in which a loaded page finishes drawing and comes to rest.

Polling in every frame would itself load the page.
"""
ANSWERED = """() => {
    const status = [...document.querySelectorAll("article[data-status]")].at(-1)?.dataset.status;
    return status !== undefined && status !== "in_progress";
}"""


async def new_page(browser: Browser, server: EbbServer) -> Page:
    """Open an empty tab for the pages of `server`."""
    context = await browser.new_context(base_url=server.base_url, viewport={"width": 1280, "height": 800})
    return await context.new_page()
