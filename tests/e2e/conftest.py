"""Fixtures: a real server with the real model, and Chromium pages that must stay free of errors."""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import APIRequestContext, Browser, ConsoleMessage, Request, async_playwright, expect

from tests.conftest import default_cache_dir
from tests.e2e.chat_page import ChatPage
from tests.e2e.server_process import ServerProcess, ebb_process

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STATIC = Path(__file__).parents[2] / "app" / "static"

# A deadline, not an estimate: the page always shares the machine with other work.
DEADLINE_MS = 20_000

NewPage = Callable[..., Awaitable[ChatPage]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run this package's tests on one event loop, because they share a browser."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="package")
def chromium_path() -> str:
    for name in BROWSERS:
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip("Chromium is not installed; install it (Debian, Ubuntu: apt-get install chromium)")


@pytest.fixture(scope="package")
def server_process(
    chromium_path: str, model_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """Run `ebb serve` with the default model for all tests of the package.

    A test that kills the server must start it again. The memory holds 5,824 of the 8,192 tokens of the model's window.
    """
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    flags = (
        "--cache-dir",
        str(default_cache_dir()),
        "--kv-memory",
        "128MiB",
        "--redis-memory",
        "256MiB",
        "--share-links",
    )
    with ebb_process(tmp_path_factory.mktemp("e2e"), *flags) as process:
        yield process


@pytest.fixture(scope="package")
def server(server_process: ServerProcess) -> str:
    """Return the server's base URL."""
    return server_process.url


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    """Launch Chromium. Each test opens and closes its own contexts, which share nothing."""
    expect.set_options(timeout=DEADLINE_MS)
    async with async_playwright() as playwright:
        # Chromium's own sandbox does not work as root, which tests in containers run as.
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(browser: Browser, server: str) -> AsyncIterator[NewPage]:
    """Provide a function that opens pages, each in its own context.

    At the end of the test, no page may have raised an error, violated the content security policy, or sent a request
    to another origin.
    """
    faults: list[str] = []

    def on_request(request: Request) -> None:
        if not request.url.startswith((server, "data:", "blob:")):
            faults.append(f"a request left the server: {request.url}")

    def on_console(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            faults.append(message.text)

    async def open_page(**options: Any) -> ChatPage:
        # A service worker would load the page's files in place of the page, out of sight of the tests' routes.
        kept = {"base_url": server, "viewport": {"width": 1200, "height": 800}, "service_workers": "block"}
        context = await browser.new_context(**{**kept, **options})
        if len(browser.contexts) == 1:
            await _clear_leftovers(context.request)
        page = await context.new_page()
        page.on("request", on_request)
        page.on("console", on_console)
        page.on("pageerror", lambda error: faults.append(str(error)))
        return ChatPage(page)

    yield open_page
    for context in browser.contexts:
        # A page may send a request while it closes, when its route handler may already be gone.
        for page in context.pages:
            await page.unroute_all(behavior="ignoreErrors")
        await context.close()
    assert faults == []


async def _clear_leftovers(request: APIRequestContext) -> None:
    """Remove what an earlier test has left outside of its own chats: the empty page's draft, and the folders."""
    await request.put("/api/draft", data={"text": ""})
    for folder in (await (await request.get("/api/folders")).json())["data"]:
        await request.delete(f"/api/folders/{folder['id']}")


@pytest_asyncio.fixture(loop_scope="session")
async def chat(new_page: NewPage) -> ChatPage:
    """Open a blank page of the default size."""
    return await new_page()
