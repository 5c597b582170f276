"""The list of chats: addresses, search, renaming, pinning, archiving, deletion, export and import."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.sizes import PAGE

MOST_REQUESTS = 26
"""Requests of an empty page. Each takes milliseconds in the browser and in the server."""


async def test_page_opens_with_few_requests_and_none_twice(chat: ChatPage) -> None:
    asked = list[str]()
    chat.page.on("request", lambda request: asked.append(request.url))
    async with chat.page.expect_response("**/api/events"):
        await chat.page.goto("/")
    await expect(chat.page.get_by_text("No chats yet.")).to_be_visible()
    # The event of this chat is behind everything that the stream of changes sets off when it begins.
    await chat.new_chat(tokens=1, title="Tides")
    await expect(chat.chats.get_by_text("Tides")).to_be_visible()
    assert sorted(asked) == sorted(set(asked))
    assert len(asked) <= MOST_REQUESTS


async def test_chat_renamed_in_place_keeps_its_name(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Before")
    await chat.choose("Before", "Rename")
    field = chat.page.get_by_label("Name of the chat")
    await expect(field).to_be_focused()

    await field.fill("After")
    await field.press("Enter")

    await expect(chat.chats.first).to_have_text("After")
    await expect(chat.page).to_have_title(re.compile(r"After · Ebb$"))
    await expect(chat.menu_of("After")).to_be_focused()
    await chat.page.reload()
    await expect(chat.chats.first).to_have_text("After")
    assert (await chat.stored(conversation))["title"] == "After"


@PAGE
async def test_open_chat_has_its_menu_in_the_header(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="At the top")
    menu = chat.header.get_by_role("button", name="More actions for At the top")
    await menu.click()
    await expect(chat.page.get_by_role("menuitem", name="Delete", exact=True)).to_be_visible()
    in_header = await chat.page.get_by_role("menuitem").all_inner_texts()
    await chat.page.keyboard.press("Escape")
    await chat.chats.get_by_text("At the top", exact=True).hover()
    await chat.menu_of("At the top").click()
    await expect(chat.page.get_by_role("menuitem")).to_have_text(in_header)
    found = chat.page.get_by_role("menuitem", name="Find in this chat", exact=True)
    await expect(found).to_have_attribute("aria-keyshortcuts", "Control+F")
    await found.click()
    await expect(chat.page.get_by_role("search", name="Find in this chat").get_by_role("textbox")).to_be_focused()
    await chat.page.keyboard.press("Escape")

    await chat.header.get_by_role("heading", name="At the top").dblclick()
    field = chat.header.get_by_label("Name of the chat")
    await field.fill("Renamed there")
    await field.press("Enter")
    await expect(chat.header.get_by_role("heading", name="Renamed there")).to_be_visible()
    await expect(chat.chats.first).to_have_text("Renamed there")

    await chat.header.get_by_role("button", name="More actions for").click()
    await chat.page.get_by_role("menuitem", name="Archive", exact=True).click()
    await expect(chat.chats.get_by_text("Renamed there", exact=True)).to_have_count(0)
    # An archived chat keeps its menu, although the list does not show it.
    await chat.header.get_by_role("button", name="More actions for").click()
    await chat.page.get_by_role("menuitem", name="Unarchive", exact=True).click()
    await expect(chat.chats.get_by_text("Renamed there", exact=True)).to_be_visible()
    await chat.header.get_by_role("button", name="More actions for").click()
    await chat.page.get_by_role("menuitem", name="Delete", exact=True).click()
    await chat.button("Delete").click()
    await expect(chat.page).to_have_url(re.compile(r"/$"))
    assert (await chat.page.request.get(f"/api/conversations/{conversation}")).status == 404


@PAGE
async def test_escape_discards_new_name(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Kept")
    await chat.choose("Kept", "Rename")
    field = chat.page.get_by_label("Name of the chat")
    await field.fill("Not this")
    await field.press("Escape")

    await expect(chat.chats.first).to_have_text("Kept")
    assert (await chat.stored(conversation))["title"] == "Kept"


async def test_deletion_needs_confirmation_and_can_be_undone(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Doomed")
    await chat.choose("Doomed", "Delete")
    await chat.button("Cancel").click()
    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_be_visible()

    await chat.choose("Doomed", "Delete")
    await expect(chat.page.get_by_role("dialog")).to_contain_text("“Doomed” moves to Recently deleted.")
    await chat.button("Delete").click()
    await chat.button("Undo").click()
    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_be_visible()
    await expect(chat.page).to_have_url(re.compile(f"/c/{conversation}$"))

    await chat.choose("Doomed", "Delete")
    await chat.button("Delete").click()

    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_have_count(0)
    await expect(chat.page).to_have_url(re.compile(r"/$"))
    await chat.page.reload()
    await expect(chat.button("New chat")).to_be_visible()
    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_have_count(0)
    assert (await chat.page.request.get(f"/api/conversations/{conversation}")).status == 404


@PAGE
async def test_two_tabs_of_browser_stay_in_sync(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Seen by two")
    other = ChatPage(await chat.page.context.new_page())
    await other.page.goto(f"/c/{conversation}")
    await expect(other.composer).to_be_focused()

    await other.choose("Seen by two", "Pin")
    await expect(chat.page.get_by_role("heading", name="Pinned")).to_be_visible()
    await other.choose("Seen by two", "Unpin")
    await other.send("Said in the second.")
    await expect(chat.questions).to_have_text("Said in the second.")
    await chat.expect_status("incomplete")


@PAGE
async def test_pinned_chat_is_first_and_archived_chat_is_in_archive(chat: ChatPage) -> None:
    await chat.new_chat(tokens=1, title="An old anchor")
    await chat.open_new_chat(tokens=1, title="A new anchor")
    await expect(chat.chats.first).to_have_text("A new anchor")

    await chat.choose("An old anchor", "Pin")
    await expect(chat.chats.first).to_have_text("An old anchor")
    await expect(chat.page.get_by_role("heading", name="Pinned")).to_be_visible()
    await chat.choose("An old anchor", "Archive")
    await expect(chat.page.get_by_text("“An old anchor” was archived.")).to_be_visible()
    await expect(chat.chats.get_by_text("An old anchor", exact=True)).to_have_count(0)

    await chat.open_menu_item("Archived chats")
    await chat.chats.get_by_text("An old anchor", exact=True).click()
    await expect(chat.page).to_have_title(re.compile(r"An old anchor · Ebb$"))
    await chat.page.reload()
    await expect(chat.page.get_by_role("heading", name="An old anchor")).to_be_visible()
    await chat.open_menu_item("Archived chats")
    await chat.choose("An old anchor", "Unarchive")
    await chat.button("Back to all chats").click()
    await expect(chat.chats.first).to_have_text("An old anchor")
    await chat.choose("An old anchor", "Unpin")
    await expect(chat.page.get_by_role("heading", name="Pinned")).to_have_count(0)


@PAGE
async def test_menu_of_pinned_chat_says_whether_its_kv_is_kept(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="Tides")
    await chat.send("The tide comes in. " * 20)
    await chat.expect_status("incomplete")
    await chat.choose("Tides", "Pin")
    await expect(chat.page.get_by_role("heading", name="Pinned")).to_be_visible()
    unpin = chat.page.get_by_role("menuitem", name="Unpin", exact=True)
    await chat.menu_of("Tides").click()
    await expect(unpin).to_have_accessible_description("The cache may be dropped: no space is reserved for you.")
    await expect(unpin).to_contain_text("may be dropped")
    await chat.page.keyboard.press("Escape")
    reserved = await chat.page.request.put("/api/admin/tenants/local/limits", data={"kv_reserved": 1 << 20})
    assert reserved.ok, await reserved.text()
    await chat.menu_of("Tides").click()
    await expect(unpin).to_have_accessible_description(re.compile(r"^Cache kept on the disk \([1-9]"))
    await unpin.click()
    await expect(chat.page.get_by_role("heading", name="Pinned")).to_have_count(0)


@PAGE
async def test_exported_chat_can_be_imported_as_another_one(chat: ChatPage, tmp_path: Path) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Cargo")
    async with chat.page.expect_download() as download:
        await chat.choose("Cargo", "Export as JSON")
    file = tmp_path / "cargo.json"
    await (await download.value).save_as(file)
    file.write_text(file.read_text().replace(conversation, conversation + "0"))

    await chat.open_menu_item("Import chats…")
    await chat.page.get_by_label("Drop a file here").set_input_files(file)
    await expect(chat.page.get_by_text("1 chat from Ebb")).to_be_visible()
    await expect(chat.button("Import 1 chat")).to_be_focused()
    await chat.page.keyboard.press("Enter")

    await expect(chat.page.get_by_text("1 chat was imported.")).to_be_visible()
    await expect(chat.chats.get_by_text("Cargo", exact=True)).to_have_count(2)


@PAGE
async def test_archive_of_chatgpt_is_previewed_and_imported(chat: ChatPage, tmp_path: Path) -> None:
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", json.dumps(chatgpt_export()))
        file.writestr("chat.html", "<html>")
    await chat.page.goto("/")
    await chat.open_menu_item("Import chats…")
    dialog = chat.page.get_by_role("dialog")
    await dialog.get_by_label("Drop a file here").set_input_files(archive)

    await expect(dialog.get_by_text("2 chats from ChatGPT")).to_be_visible()
    await expect(dialog.get_by_text("3 messages · 2 branches · left out: 1 tool message")).to_be_visible()
    await dialog.get_by_text("1 chat cannot be read").click()
    await expect(dialog.get_by_text("none of its questions and answers can be read")).to_be_visible()
    await dialog.get_by_label("Unwanted").uncheck()
    await dialog.get_by_role("button", name="Import 1 chat").click()

    await chat.chats.get_by_text("Harbours of the north", exact=True).click()
    await expect(chat.questions).to_have_text("Which harbour is the deepest?")
    await expect(chat.answers).to_contain_text("The second one.")
    await expect(chat.chats.get_by_text("Unwanted", exact=True)).to_have_count(0)
    await chat.open_menu_item("Import chats…")
    await dialog.get_by_label("Drop a file here").set_input_files(archive)
    await expect(dialog.get_by_text("already here")).to_be_visible()
    await expect(dialog.get_by_label("Harbours of the north")).to_be_disabled()


def chatgpt_export() -> list[dict[str, Any]]:
    """Build a chat with two answers and a call of a tool, a chat with one question, and a broken one."""

    def node(parent: str | None, role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"parent": parent, "message": {"author": {"role": role}, "content": content}}

    question = node(None, "user", "Which harbour is the deepest?")
    answers = {
        "a": node("q", "assistant", "The first one."),
        "t": node("q", "tool", "42"),
        "b": node("t", "assistant", "The second one."),
    }
    return [
        {"id": "1", "title": "Harbours of the north", "current_node": "b", "mapping": {"q": question, **answers}},
        {"id": "2", "title": "Unwanted", "mapping": {"q": question}},
        {"id": "3", "title": "Broken", "mapping": []},
    ]


async def test_search_finds_word_and_leads_to_its_message(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="Where is it")
    await chat.send("The keelson lies upon the keel.")
    await chat.expect_status("incomplete")
    await chat.button("New chat").click()

    await chat.page.keyboard.press("Control+Shift+F")
    await expect(chat.page.get_by_label("Search chats")).to_be_focused()
    await chat.page.keyboard.type("keels")
    found = chat.page.get_by_role("navigation", name="Found").get_by_role("link")
    await expect(found).to_have_count(1)
    await expect(found.locator("mark")).to_have_text("keelson")
    await found.click()

    await expect(chat.questions).to_have_text("The keelson lies upon the keel.")
    await expect(chat.questions).to_be_in_viewport()
    await chat.page.keyboard.press("Control+Shift+F")
    await chat.page.keyboard.press("Escape")
    await expect(chat.chats.first).to_have_text("Where is it")


@PAGE
async def test_search_is_narrowed_by_filters(chat: ChatPage) -> None:
    for title in ("Filtered windlass", "Archived windlass"):
        made = await chat.new_chat(tokens=1, title=title)
    await chat.page.request.patch(f"/api/conversations/{made}", data={"archived": True, "tags": ["harbour"]})
    await chat.page.goto("/")
    await chat.page.get_by_label("Search chats").fill("windlass")
    results = chat.page.get_by_role("navigation", name="Found")
    await expect(results.get_by_role("link")).to_have_count(2)
    await results.get_by_text("Filters", exact=True).click()
    await results.get_by_role("combobox", name="Archive").select_option("Without archived chats")
    await expect(results.get_by_role("link")).to_contain_text(["Filtered windlass"])
    await results.get_by_label("When").select_option("Between two days…")
    await results.get_by_label("Last day").fill("2026-01-31")
    await expect(results).to_contain_text("Nothing found.")
    await expect(results.get_by_text("Filters: 2")).to_be_visible()
    await results.get_by_role("button", name="Clear the filters").click()
    await expect(results.get_by_role("link")).to_have_count(2)


@PAGE
async def test_mistyped_search_says_what_it_found_instead(chat: ChatPage) -> None:
    await chat.new_chat(tokens=1, title="Fairlead care")
    await chat.page.goto("/")
    await chat.page.get_by_label("Search chats").fill("fairlaed")
    results = chat.page.get_by_role("navigation", name="Found")
    await expect(results).to_contain_text("Also found: fairlead")
    await expect(results.get_by_role("link")).to_contain_text(["Fairlead care"])


async def test_each_chat_has_address_and_back_button_returns(chat: ChatPage) -> None:
    one = await chat.new_chat(tokens=4, title="Chat one")
    two = await chat.open_new_chat(tokens=4, title="Chat two")
    await chat.send("This is two.")
    await chat.expect_status("incomplete")

    await chat.chats.get_by_text("Chat one", exact=True).click()
    await expect(chat.page).to_have_url(re.compile(f"/c/{one}$"))
    await expect(chat.questions).to_have_count(0)
    await expect(chat.composer).to_be_focused()

    await chat.page.go_back()
    await expect(chat.page).to_have_url(re.compile(f"/c/{two}$"))
    await expect(chat.questions.last).to_have_text("This is two.")
