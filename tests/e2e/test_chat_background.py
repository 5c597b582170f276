"""Changes from other browsers, the palette, unknown addresses, and the page without a connection."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, async_playwright, expect

from bench.chromium import FLAGS
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.test_chat_accessibility import ALL, PHONE, violations
from tests.integration.api_server import RunningServer, running_server
from tests.sizes import PAGE

CACHED = """async () => (await Promise.all((await caches.keys()).map(async (name) =>
    (await (await caches.open(name)).keys()).map(({url}) => new URL(url).pathname)))).flat()"""

ICON_SIZE = """async (path) => {
  const bitmap = await createImageBitmap(await (await fetch(path)).blob());
  return `${bitmap.width}x${bitmap.height}`;
}"""
KEEPS_GERMAN = """async () => (await Promise.all(
    (await caches.keys()).filter((name) => name.endsWith("-de")).map(async (name) =>
        (await (await caches.open(name)).keys()).length))).some((files) => files > 1)"""

RECORDS_NOTIFICATIONS = """(() => {
    // Asking the browser again and again would make it forget a notification that it is about to show.
    window.notified = [];
    const show = ServiceWorkerRegistration.prototype.showNotification;
    ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
        await show.call(this, title, options);
        window.notified.push([title, options.body, options.data]);
    };
})()"""


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    async with running_server(tmp_path, ReplayEngine(), static=STATIC) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def whole_browser(whole_browser_path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=whole_browser_path, args=FLAGS)
        yield browser
        await browser.close()


async def opened(
    browser: Browser, server: RunningServer[ReplayEngine], **options: object
) -> tuple[BrowserContext, ChatPage]:
    context = await browser.new_context(base_url=server.url, **options)  # type: ignore[arg-type]
    return context, ChatPage(await context.new_page())


async def test_second_browser_sees_chats_and_messages_at_once(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    first_context, first = await opened(browser, server)
    second_context, second = await opened(browser, server)
    for page in (first, second):
        await page.page.goto("/")
    server.engine.hold()
    await first.send("Hello from the first.")
    await expect(second.chats.first).to_have_text("Hello from the first.")
    await expect(second.page.get_by_role("img", name="Answering")).to_be_visible()
    # In a chat that a browser shows, the answer would count as seen.
    await first.page.goto("/")
    server.engine.allow(None)
    await expect(second.page).to_have_title("(1) Ebb")
    await expect(second.page.get_by_role("img", name="New answer")).to_be_visible()
    await second.chats.first.click()
    await expect(second.answers).to_have_count(1)
    await expect(second.page.get_by_role("img", name="New answer")).to_have_count(0)

    await first.chats.first.click()
    await first.expect_status("complete")
    server.engine.hold()
    await first.send("And another.")
    await expect(second.questions).to_have_count(2)
    await expect(second.page.get_by_role("img", name="Answering")).to_be_visible()
    server.engine.allow(None)
    await second.expect_status("complete")
    await expect(second.answers).to_have_count(2)
    for context in (first_context, second_context):
        await context.close()


@PAGE
async def test_unread_answer_has_mark_in_every_browser_until_seen(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    first_context, first = await opened(browser, server)
    second_context, second = await opened(browser, server)
    marks = [each.page.get_by_role("img", name="New answer") for each in (first, second)]
    await first.page.goto("/")
    await first.page.request.post("/api/conversations", data={"title": "Another chat"})
    server.engine.hold()
    await first.send("Think about tides.")
    await expect(first.page.get_by_role("img", name="Answering")).to_be_visible()
    await first.chats.filter(has_text="Another chat").click()
    server.engine.allow(None)
    await expect(marks[0]).to_be_visible()
    await first.page.reload()
    await second.page.goto("/")
    for page, mark in zip((first, second), marks, strict=True):
        await expect(mark).to_be_visible()
        await expect(page.page).to_have_title(re.compile(r"^\(1\) "))

    await first.chats.filter(has_text="Think about tides.").click()
    for page, mark in zip((first, second), marks, strict=True):
        await expect(mark).to_have_count(0)
        await page.page.reload()
        await expect(page.chats).to_have_count(2)
        await expect(mark).to_have_count(0)
        await expect(page.page).not_to_have_title(re.compile(r"^\("))

    # An answer that ends in a visible chat was seen, also by the browser that shows another one.
    await first.send("And about the moon.")
    await first.expect_status("complete")
    await expect(marks[1]).to_have_count(0)
    await second.page.reload()
    await expect(second.chats).to_have_count(2)
    await expect(marks[1]).to_have_count(0)
    for context in (first_context, second_context):
        await context.close()


@PAGE
async def test_answer_in_a_hidden_tab_is_notified_if_asked(
    whole_browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    context, chat = await opened(whole_browser, server, permissions=["notifications"])
    # A hidden tab of this Chromium is still visible to its page.
    await context.add_init_script(
        "Object.defineProperty(document, 'visibilityState', {get: () => window.tabIsHidden ? 'hidden' : 'visible'})"
    )
    await context.add_init_script(RECORDS_NOTIFICATIONS)
    async with chat.page.expect_response("**/api/events"):
        await chat.page.goto("/")
    await chat.page.wait_for_function("() => navigator.serviceWorker.ready.then(() => true)")
    await chat.page.evaluate("window.tabIsHidden = true")
    await chat.send("Nobody asked.")
    await chat.expect_status("complete")
    await chat.page.keyboard.press("Control+k")
    await chat.page.keyboard.type("notifications")
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_text("require HTTPS")).to_have_count(0)
    await chat.page.get_by_label("Notify me when an answer ends").check()
    # The browser's permission arrives later than the mark in the checkbox.
    await chat.page.wait_for_function("() => localStorage.getItem('ebb-notify') === 'on'")
    await chat.page.keyboard.press("Escape")
    await chat.send("Tell me.")
    await chat.expect_status("complete")
    await chat.page.wait_for_function("() => window.notified.length > 0")
    assert await chat.page.evaluate("window.notified") == [
        ["Nobody asked.", "Answer finished", chat.page.url.rpartition("/")[2]]
    ]
    await context.close()


@PAGE
async def test_palette_finds_chats_and_commands_by_keyboard(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    context, chat = await opened(browser, server)
    preset = {"name": "Sailor", "system_prompt": "Answer like a sailor.", "params": {"max_tokens": 3}}
    created = await (await chat.page.request.post("/api/presets", data=preset)).json()
    await chat.page.goto("/")
    for title in ("Anchor", "Bollard"):
        await chat.page.request.post("/api/conversations", data={"title": title})
    await expect(chat.chats).to_have_count(2)
    await chat.page.keyboard.press("Control+k")
    palette = chat.page.get_by_role("dialog", name="Search chats and commands")
    field = palette.get_by_role("combobox")
    await expect(field).to_be_focused()
    assert await violations(chat, ALL) == []
    await chat.page.keyboard.type("oll")
    await expect(palette.get_by_role("option")).to_have_count(1)
    await chat.page.keyboard.press("Enter")
    await expect(palette).to_have_count(0)
    await expect(chat.page.get_by_role("heading", name="Bollard", level=1)).to_be_visible()
    await chat.page.keyboard.press("Control+k")
    await chat.page.keyboard.type("sail")
    # A chat takes a preset once it is loaded, which is later than its heading.
    await expect(palette.get_by_role("option", name="Preset: Sailor")).to_be_visible()
    await chat.page.keyboard.press("Enter")
    await expect(palette).to_have_count(0)
    await expect(chat.page.get_by_text("Preset: Sailor")).to_be_visible()
    stored = await chat.stored(chat.page.url.rpartition("/")[2])
    assert (stored["system_prompt"], stored["params"]) == ("Answer like a sailor.", {"max_tokens": 3})
    await chat.page.request.delete(f"/api/presets/{created['id']}")
    await chat.page.keyboard.press("Control+k")
    await chat.page.keyboard.type("keyb")
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await chat.page.keyboard.press("Control+k")
    await chat.page.keyboard.type("tempor")
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_test_id("temporary")).to_be_visible()
    await chat.page.keyboard.press("Control+k")
    await chat.page.keyboard.press("Escape")
    await expect(palette).to_have_count(0)
    await context.close()


@PAGE
async def test_palette_is_reachable_on_a_phone(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    context, chat = await opened(browser, server, **PHONE)
    await chat.page.goto("/")
    await chat.button("Open the list of chats").tap()
    await chat.button("Settings").tap()
    await chat.button("Search and commands").tap()
    await expect(chat.page.get_by_role("combobox")).to_be_focused()
    assert await violations(chat, ALL) == []
    await chat.page.get_by_role("option", name="Settings", exact=True).tap()
    await expect(chat.page.get_by_role("dialog", name="Settings")).to_be_visible()
    await context.close()


@PAGE
async def test_unknown_address_shows_its_own_view(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    context, chat = await opened(browser, server)
    response = await chat.page.goto("/no/such/place")
    assert response is not None
    assert response.status == 404
    await expect(chat.page.get_by_text("There is nothing at this address.")).to_be_visible()
    assert await violations(chat, ALL) == []
    await chat.page.get_by_role("main").get_by_role("button", name="New chat").click()
    await expect(chat.composer).to_be_visible()
    assert chat.page.url == f"{server.url}/"

    await chat.page.goto("/c/%ff")
    await expect(chat.page.get_by_text("There is nothing at this address.")).to_be_visible()
    await context.close()


@PAGE
async def test_page_opens_without_connection_in_a_chosen_language(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    context, chat = await opened(browser, server, service_workers="allow")
    await chat.page.goto("/")
    await chat.page.wait_for_function("() => navigator.serviceWorker.ready.then(() => true)")
    await chat.button("Settings").click()
    await chat.page.get_by_label("Language").select_option("Deutsch")
    await expect(chat.page.get_by_role("dialog", name="Einstellungen")).to_be_visible()
    # The texts in the language were loaded before the worker could keep them. A worker for the language keeps them.
    await chat.page.wait_for_function(KEEPS_GERMAN)
    await context.set_offline(True)
    await chat.page.reload()
    await expect(chat.button("Neuer Chat")).to_be_visible()
    await context.close()


async def test_page_opens_without_connection_and_keeps_no_chats(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    context, chat = await opened(browser, server, service_workers="allow")
    await chat.page.goto("/")
    await chat.send("Keep this private.")
    await chat.expect_status("complete")
    await chat.page.wait_for_function("() => navigator.serviceWorker.ready.then(() => true)")
    await chat.page.reload()
    await expect(chat.answers).to_have_count(1)
    cached = await chat.page.evaluate(CACHED)
    assert "/" in cached
    assert [path for path in cached if path != "/" and not path.startswith("/assets/")] == []
    await context.set_offline(True)
    await chat.page.reload()
    await expect(chat.page.get_by_text("Server unreachable")).to_be_visible()
    await expect(chat.page.get_by_text("Keep this private.")).to_have_count(0)
    await context.close()


@PAGE
async def test_page_can_be_installed_with_icons_of_the_stated_sizes(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    context, chat = await opened(browser, server)
    await chat.page.goto("/")
    devtools = await context.new_cdp_session(chat.page)
    errors = (await devtools.send("Page.getInstallabilityErrors"))["installabilityErrors"]
    # Contexts of tests are private windows, in which nothing can be installed.
    assert {error["errorId"] for error in errors} <= {"in-incognito"}
    found = await devtools.send("Page.getAppManifest")
    assert found["errors"] == []
    icons = json.loads(found["data"])["icons"]
    images = [icon for icon in icons if icon["type"] == "image/png"]
    sizes = [await chat.page.evaluate(ICON_SIZE, icon["src"]) for icon in images]
    assert sizes == [icon["sizes"] for icon in images] == ["192x192", "512x512", "512x512"]
    touch = await chat.page.locator("link[rel=apple-touch-icon]").get_attribute("href")
    assert await chat.page.evaluate(ICON_SIZE, touch) == "180x180"
    await context.close()
