"""A long list of chats: a part of it is read and drawn, and everything works over all of it."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from playwright.async_api import Browser, CDPSession, Locator, expect

from app.domain.records import Conversation, new_id
from app.storage.connection import DatabaseConnection
from app.storage.rows import add_conversations
from app.storage.store import Store
from tests.conftest import default_cache_dir
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.server_process import ebb_serve
from tests.sizes import LARGE, PAGE

COUNT = 320
FEW = 50
MANY = 50_000
BATCH = 500
MOST_RATIO = 1.2
MOST_HEAP = 40e6
MOST_HEAP_AT_END = 60e6
OPENINGS = 7


def exported(count: int) -> dict[str, Any]:
    """Return a file of chats in the folder "Long", the newest with the number 0, some years apart from the others."""
    same: dict[str, Any] = {
        "title_source": "user",
        "system_prompt": None,
        "params": {},
        "folder": ["Long"],
        "head_id": None,
        "messages": [],
    }
    times = {
        number: {"created_at": 1.7e9 - number * 90_000, "updated_at": 1.7e9 - number * 90_000}
        for number in range(count)
    }
    chats = [{"id": f"long-{number}", "title": f"Long {number}"} | same | at for number, at in times.items()]
    return {"format": "ebb-conversations", "format_version": 3, "conversations": chats, "folders": []}


@asynccontextmanager
async def long_folder(new_page: NewPage) -> AsyncIterator[ChatPage]:
    """Open a page whose list shows a folder of COUNT chats, which are removed at the end."""
    chat = await new_page()
    response = await chat.page.request.post("/api/import?duplicates=true", data=exported(COUNT))
    assert response.status == 200, await response.text()
    ids = (await response.json())["imported"]
    try:
        await chat.page.goto("/")
        await chat.button(f"Long, {COUNT} chats").click()
        await expect(chat.chats.first).to_have_text("Long 0")
        await expect(chat.button("Back to all chats")).to_be_focused()
        yield chat
    finally:
        await chat.page.request.post("/api/conversations/bulk", data={"conversation_ids": ids, "deleted": True})


def row(chat: ChatPage, number: int) -> Locator:
    return chat.chats.get_by_text(f"Long {number}", exact=True)


@PAGE
async def test_all_of_a_long_list_is_scrolled_walked_and_changed(new_page: NewPage) -> None:
    async with long_folder(new_page) as chat:
        assert await chat.chats.count() < 100
        item = row(chat, 0).locator("xpath=..")
        await expect(item).to_have_attribute("aria-setsize", f"{COUNT}")
        await expect(item).to_have_attribute("aria-posinset", "1")
        await scroll_to_end(chat)
        await expect(row(chat, 0)).to_have_count(0)
        await expect(chat.page.get_by_role("heading", name="December 2022")).to_have_count(1)
        await scroll(chat, 0.5)
        await expect(row(chat, COUNT // 2)).to_be_in_viewport()
        assert await chat.chats.count() < 100

        await row(chat, COUNT // 2).focus()
        for key, number in (("ArrowDown", COUNT // 2 + 1), ("End", COUNT - 1), ("ArrowUp", COUNT - 2), ("Home", 0)):
            await chat.page.keyboard.press(key)
            await expect(row(chat, number)).to_be_focused()
        # The row with the focus stays while it is scrolled away, and the next key continues from it.
        await scroll_to_end(chat)
        await chat.page.keyboard.press("ArrowDown")
        await expect(row(chat, 1)).to_be_focused()
        await expect(row(chat, 1)).to_be_in_viewport()

        await chat.choose("Long 1", "Select chats")
        bar = chat.page.get_by_role("toolbar", name="Selected chats")
        await bar.get_by_role("button", name="Select all").click()
        await expect(bar.get_by_text(f"{COUNT} selected")).to_be_visible()
        await chat.page.get_by_label("Select Long 1", exact=True).uncheck()
        await bar.get_by_role("button", name="Archive").click()
        await expect(chat.page.get_by_text(f"{COUNT - 1} chats were archived.")).to_be_visible()
        await expect(chat.chats).to_have_text(["Long 1"])
        await chat.page.keyboard.press("Control+z")
        await expect(row(chat, 0)).to_be_visible()
        await chat.button("Back to all chats").click()
        await expect(chat.button(f"Long, {COUNT} chats")).to_be_visible()


@PAGE
async def test_chats_of_several_pages_are_exported_and_restored(new_page: NewPage, tmp_path: Path) -> None:
    async with long_folder(new_page) as chat:
        await chat.choose("Long 0", "Select chats")
        bar = chat.page.get_by_role("toolbar", name="Selected chats")
        await bar.get_by_role("button", name="Select all").click()
        await expect(bar.get_by_text(f"{COUNT} selected")).to_be_visible()
        async with chat.page.expect_download() as download:
            await bar.get_by_role("button", name="Export as JSON").click()
        file = tmp_path / "chats.json"
        await (await download.value).save_as(file)
        assert len(json.loads(file.read_text())["conversations"]) == COUNT

        await bar.get_by_role("button", name="Delete").click()
        await chat.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(chat.page.get_by_text(f"{COUNT} chats were deleted.")).to_be_visible()
        await chat.open_menu_item("Recently deleted")
        dialog = chat.page.get_by_role("dialog", name="Recently deleted")
        rows = dialog.get_by_role("listitem")
        await expect(rows).to_have_count(100)
        total = int(await rows.first.get_attribute("aria-setsize") or 0)
        assert total >= COUNT
        for drawn in (200, 300):
            await dialog.locator("ul").last.evaluate("each => { each.scrollTop = each.scrollHeight; }")
            await expect(rows).to_have_count(drawn)
        await dialog.get_by_role("button", name="Delete all for good").click()
        await expect(chat.page.get_by_text(f"Delete {total} chats for good?")).to_be_visible()
        await chat.button("Cancel").click()
        await dialog.get_by_role("button", name="Restore all").click()
        await expect(dialog.get_by_text("No recently deleted chats.")).to_be_visible()
        await chat.page.keyboard.press("Escape")
        await expect(chat.chats.first).to_have_text("Long 0")


@PAGE
async def test_chats_that_were_not_read_follow_other_browsers(new_page: NewPage) -> None:
    async with long_folder(new_page) as chat:
        await scroll_to_end(chat)
        target = await row(chat, COUNT - 1).get_attribute("href")
        assert target is not None
        await scroll(chat, 0.0)
        await expect(row(chat, 0)).to_be_in_viewport()
        other = await new_page()
        changed = await other.page.request.patch(
            f"/api{target.replace('/c/', '/conversations/')}", data={"pinned": True, "tags": ["far"]}
        )
        assert changed.status == 200
        await expect(chat.chats.first).to_have_text(f"Long {COUNT - 1}")
        await expect(chat.page.get_by_role("heading", name="Pinned")).to_be_visible()
        await chat.button("Back to all chats").click()
        await chat.page.get_by_role("button", name="far", exact=True).click()
        await expect(chat.chats).to_have_text([f"Long {COUNT - 1}"])
        await chat.choose(f"Long {COUNT - 1}", "Folder and tags…")
        dialog = chat.page.get_by_role("dialog")
        await dialog.get_by_role("button", name="Remove the tag far").click()
        await dialog.get_by_role("button", name="Save").click()
        await expect(chat.page.get_by_role("button", name="far", exact=True)).to_have_count(0)


async def scroll_to_end(chat: ChatPage) -> None:
    """Scroll the list to its last row. The headings of rows that were just read lengthen the list."""
    await scroll(chat, 1.0)
    await expect(row(chat, COUNT - 1)).to_be_attached()
    await scroll(chat, 1.0)
    await expect(row(chat, COUNT - 1)).to_be_in_viewport()


async def scroll(chat: ChatPage, part: float) -> None:
    """Scroll the list to a part of its height."""
    nav = chat.page.get_by_role("navigation", name="Chats", exact=True)
    await nav.evaluate("(nav, part) => nav.scrollTo(0, part * nav.scrollHeight)", part)


@PAGE
@LARGE
async def test_list_of_many_chats_costs_what_is_seen(browser: Browser, model_path: Path, tmp_path: Path) -> None:
    flags = ("--cache-dir", str(default_cache_dir()), "--kv-memory", "128MiB", "--redis-memory", "128MiB")
    times: dict[int, list[float]] = {FEW: [], MANY: []}
    with ExitStack() as stack:
        urls = dict[int, str]()
        for count in times:
            (state := tmp_path / f"{count}" / "state").mkdir(parents=True)
            await store_chats(state, count)
            urls[count] = stack.enter_context(ebb_serve(tmp_path / f"{count}", *flags))
        for _ in range(OPENINGS):
            for count, url in urls.items():
                times[count].append(await seconds_until_listed(browser, url))
        first, last = await heaps_at_ends(browser, urls[MANY])
    few, many = median(times[FEW]), median(times[MANY])
    print(f"listed after {few:.2f} s and {many:.2f} s, heap {first / 1e6:.1f} MB and {last / 1e6:.1f} MB")
    assert many <= MOST_RATIO * few, times
    assert first <= MOST_HEAP
    assert last <= MOST_HEAP_AT_END


async def store_chats(folder: Path, count: int) -> None:
    """Write chats into the database of a server that is not running."""
    store = await Store.open(folder / "conversations.db")
    now = time.time()
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))
        chats = [_chat(number, now - number * 600) for number in numbers]
        await store.database.write(partial(_write, tenant=store.tenant, chats=chats))
    await store.close()


def _chat(number: int, at: float) -> Conversation:
    return Conversation(
        id=new_id("conv"),
        title=f"Chat {number}",
        head_id=None,
        system_prompt=None,
        params={},
        created_at=at,
        updated_at=at,
        title_source="user",
    )


def _write(connection: DatabaseConnection, *, tenant: str, chats: list[Conversation]) -> None:
    add_conversations(connection, tenant, [(chat, None) for chat in chats])


async def seconds_until_listed(browser: Browser, url: str) -> float:
    """Open the page in a new context, and return the seconds until its list is there."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    begun = time.perf_counter()
    await page.goto(url)
    await page.get_by_role("navigation", name="Chats", exact=True).get_by_role("link").first.wait_for()
    seconds = time.perf_counter() - begun
    await context.close()
    return seconds


async def heaps_at_ends(browser: Browser, url: str) -> tuple[float, float]:
    """Return the bytes of the page's heap at the beginning of the list, and at its end after a hundred steps."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    chat = ChatPage(await context.new_page())
    session = await context.new_cdp_session(chat.page)
    await session.send("Performance.enable")
    await chat.page.goto(url)
    await expect(chat.chats.first).to_have_text("Chat 0")
    first = await heap(session)
    for step in range(1, 101):
        await scroll(chat, step / 100)
        await expect(chat.chats.last).to_be_visible()
    await expect(chat.chats.last).to_have_text(f"Chat {MANY - 1}")
    last = await heap(session)
    await context.close()
    return first, last


async def heap(session: CDPSession) -> float:
    """Return the bytes that the page's JavaScript uses."""
    await session.send("HeapProfiler.collectGarbage")
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return next(float(each["value"]) for each in metrics if each["name"] == "JSHeapUsedSize")
