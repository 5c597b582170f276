"""Fixtures: a separate server for each test, whose engine needs no model, and pages that must stay free of errors."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Request, async_playwright, expect

from bench.chromium import FLAGS, SHELL, find_chromium
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.redis.backend import REDIS
from cache_tiers.store import CPUTierStats, StoreStats
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.integration.api_server import running_server

MISSING = "Chromium is not installed; install it (Debian, Ubuntu: apt-get install chromium)"
TRACES = Path(__file__).parents[2] / ".make" / "traces"
_HERE = f"{Path(__file__).parent}/"
STATIC = Path(__file__).parents[2] / "app" / "static"

# A deadline, not an estimate: the page always shares the machine with other work.
DEADLINE_MS = 20_000
FAILURE_SECONDS = 5.0

WORD_SECONDS = 0.02
WINDOW = 20_000
DELETED_DAYS = 30
RESERVABLE_BYTES = 1 << 30

FAILED = pytest.StashKey[bool]()

NewPage = Callable[..., Awaitable[ChatPage]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of this folder on one event loop, because they share a browser."""
    for item in items:
        # Not the parents of the path: the thousands of items of other folders come too.
        if str(item.path).startswith(_HERE):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="package")
def chromium_path() -> str:
    """Return the path of the headless shell, or of the browser where the shell is not installed."""
    path = find_chromium(shell=True)
    if path is None:
        pytest.skip(MISSING)
    return path


@pytest.fixture(scope="package")
def whole_browser_path() -> str:
    """Return the path of the browser that people use, for what the headless shell lacks: settings, notifications."""
    path = find_chromium()
    if path is None or Path(path).name == SHELL:
        pytest.skip(MISSING)
    return path


@pytest.fixture(scope="package")
def page_files(chromium_path: str) -> Path:
    """Return the folder of the built page."""
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    return STATIC


@pytest.fixture
def engine() -> ReplayEngine:
    """Provide the engine of `server`, which says a numbered word every WORD_SECONDS unless a test holds it."""
    engine = ReplayEngine(pace=WORD_SECONDS, window=WINDOW)
    engine.tier_notes = {REDIS.id: ""}
    cpu = CPUTierStats(used_bytes=1 << 20, capacity_bytes=1 << 24)
    engine.tiers = StoreStats(cpu, {REDIS.id: LowerTierStats(tier=REDIS, state="ok")})
    return engine


@pytest_asyncio.fixture(loop_scope="session")
async def server(
    engine: ReplayEngine, page_files: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """Serve one test, without anything that another test has left. Give the base URL."""
    state_dir = tmp_path_factory.mktemp("server")
    async with running_server(
        state_dir, engine, static=page_files, deleted_days=DELETED_DAYS, reservable_bytes=RESERVABLE_BYTES
    ) as running:
        yield running.url


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    """Launch Chromium. Each test opens and closes its own contexts, which share nothing."""
    expect.set_options(timeout=DEADLINE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        await browser.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether a test failed."""
    report = yield
    item.stash[FAILED] = report.failed or item.stash.get(FAILED, False)
    return report


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def _failures_leave_traces(
    browser: Browser, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[None]:
    """Record the steps in all pages. If the test fails, keep them with a picture and the HTML of each page.

    `playwright show-trace FILE` shows the steps. Snapshots of every step would cost a tenth of a test's CPU time.
    """
    new_context = browser.new_context

    async def traced(**options: Any) -> BrowserContext:
        # A service worker would load all files in place of the page, out of sight of the tests' routes.
        context = await new_context(**{"service_workers": "block", **options})
        await context.tracing.start()
        return context

    monkeypatch.setattr(browser, "new_context", traced)
    yield
    await _close_contexts(browser, request.node)


async def _close_contexts(browser: Browser, test: pytest.Function) -> None:
    for number, context in enumerate(browser.contexts):
        if test.stash.get(FAILED, False):
            await _keep_failure(context, f"{test.originalname}-{number}")
        # A page may send a request while it closes, when its route handler may already be gone.
        for page in context.pages:
            await page.unroute_all(behavior="ignoreErrors")
        await context.close()


async def _keep_failure(context: BrowserContext, name: str) -> None:
    await context.tracing.stop(path=TRACES / f"{name}.zip")
    for number, page in enumerate(context.pages):
        # A page that hangs or has crashed, which may be why the test failed, gives neither.
        with contextlib.suppress(Error, TimeoutError):
            async with asyncio.timeout(FAILURE_SECONDS):
                await page.screenshot(path=TRACES / f"{name}-{number}.png")
                (TRACES / f"{name}-{number}.html").write_text(await page.content())


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(browser: Browser, server: str, request: pytest.FixtureRequest) -> AsyncIterator[NewPage]:
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
        kept = {"base_url": server, "viewport": {"width": 1200, "height": 800}}
        context = await browser.new_context(**{**kept, **options})
        page = await context.new_page()
        page.on("request", on_request)
        page.on("console", on_console)
        page.on("pageerror", lambda error: faults.append(str(error)))
        return ChatPage(page)

    yield open_page
    await _close_contexts(browser, request.node)
    assert faults == []


@pytest_asyncio.fixture(loop_scope="session")
async def chat(new_page: NewPage) -> ChatPage:
    """Open a blank page of the default size."""
    return await new_page()
