"""Folders, tags and the selection of several chats."""

import json
from pathlib import Path

from playwright.async_api import expect

from tests.e2e.chat_page import CHAT_URL, ChatPage
from tests.sizes import PAGE


async def test_chats_are_filed_tagged_and_found_again(chat: ChatPage) -> None:
    filed = await chat.new_chat(tokens=1, title="Harbour plans")
    await chat.new_chat(tokens=1, title="Loose notes")
    await chat.page.goto("/")
    await chat.choose("Harbour plans", "Folder and tags…")
    dialog = chat.page.get_by_role("dialog")
    await dialog.get_by_label("Folder", exact=True).select_option("New folder…")
    await dialog.get_by_label("Name of the folder").fill("Sailing")
    await dialog.get_by_label("Tags", exact=True).fill("regatta")
    await chat.page.keyboard.press("Enter")
    await expect(dialog.get_by_role("button", name="Remove the tag regatta")).to_be_visible()
    await dialog.get_by_role("button", name="Save").click()
    await expect(chat.page.get_by_text("The folder and the tags were changed.")).to_be_visible()

    await expect(chat.chats.get_by_text("Harbour plans", exact=True)).to_have_count(0)
    await chat.page.get_by_role("button", name="Sailing, 1 chat").click()
    await expect(chat.chats).to_have_text(["Harbour plans"])
    await chat.button("Folder settings").click()
    await chat.page.get_by_label("Name of the folder").fill("At sea")
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_role("heading", name="At sea")).to_be_visible()
    await chat.button("Back to all chats").click()
    await chat.page.get_by_role("button", name="regatta", exact=True).click()
    await expect(chat.chats).to_have_text(["Harbour plans"])

    await chat.page.reload()
    await chat.page.get_by_role("button", name="At sea, 1 chat").click()
    await chat.button("Delete folder").click()
    await expect(chat.page.get_by_text("The folder “At sea” was deleted.")).to_be_visible()
    await chat.button("Undo").click()
    await expect(chat.page.get_by_role("heading", name="At sea")).to_be_visible()
    await expect(chat.chats.get_by_text("Harbour plans", exact=True)).to_be_visible()
    await chat.button("Delete folder").click()
    await expect(chat.page.get_by_text("The folder “At sea” was deleted.")).to_be_visible()
    await expect(chat.chats.get_by_text("Harbour plans", exact=True)).to_be_visible()
    stored = await chat.stored(filed)
    assert (stored["folder_id"], stored["tags"]) == (None, ["regatta"])


@PAGE
async def test_nested_folders_give_new_chats_their_system_prompt(chat: ChatPage) -> None:
    await chat.page.request.post("/api/folders", data={"name": "Harbours"})
    await chat.page.goto("/")
    await chat.page.get_by_role("button", name="Harbours, 0 chats").click()
    await chat.button("Folder settings").click()
    await chat.page.get_by_label("System prompt").fill("Answer like a pilot.")
    await chat.button("Save").click()
    await chat.button("New folder inside this one").click()
    await chat.page.get_by_label("Name of the folder").fill("Genoa")
    await chat.button("Save").click()
    await expect(chat.page.get_by_role("heading", name="Genoa")).to_be_visible()

    await chat.send("Where is the pier?")
    await expect(chat.page).to_have_url(CHAT_URL)
    stored = await chat.stored(chat.page.url.rpartition("/")[2])
    assert stored["system_prompt"] == "Answer like a pilot."
    await expect(chat.chats).to_have_count(1)

    await chat.button("Back to Harbours").click()
    await chat.page.get_by_role("button", name="Genoa, 1 chat").click()
    await chat.button("Folder settings").click()
    dialog = chat.page.get_by_role("dialog")
    await expect(dialog.get_by_label("Inside")).to_have_value(
        next(each["id"] for each in await folders(chat) if each["name"] == "Harbours")
    )
    await dialog.get_by_label("Inside").select_option("No other folder")
    await chat.button("Save").click()
    await chat.button("Back to all chats").click()
    await expect(chat.page.get_by_role("button", name="Genoa, 1 chat")).to_be_visible()

    await chat.page.get_by_role("button", name="Genoa, 1 chat").click()
    await chat.button("Delete folder").click()
    await expect(chat.page.get_by_text("The folder “Genoa” was deleted.")).to_be_visible()
    await expect(chat.page.get_by_role("button", name="Genoa, 1 chat")).to_have_count(0)


async def folders(chat: ChatPage) -> list[dict[str, str]]:
    response = await chat.page.request.get("/api/folders")
    data: list[dict[str, str]] = (await response.json())["data"]
    return data


@PAGE
async def test_selected_chats_are_exported_archived_and_deleted(chat: ChatPage, tmp_path: Path) -> None:
    names = ("Rope one", "Rope two", "Rope three")
    ids = [await chat.new_chat(tokens=1, title=name) for name in names]
    await chat.page.goto(f"/c/{ids[0]}")
    await chat.choose("Rope one", "Select chats")
    bar = chat.page.get_by_role("toolbar", name="Selected chats")
    await chat.page.get_by_label("Select Rope two").check()
    await expect(bar.get_by_text("2 selected")).to_be_visible()
    async with chat.page.expect_download() as download:
        await bar.get_by_role("button", name="Export as JSON").click()
    assert (await download.value).suggested_filename == "conversations.json"
    file = tmp_path / "ropes.json"
    await (await download.value).save_as(file)
    assert {each["title"] for each in json.loads(file.read_text())["conversations"]} == {"Rope one", "Rope two"}
    await chat.page.get_by_label("Select Rope two").uncheck()
    async with chat.page.expect_download() as download:
        await bar.get_by_role("button", name="Export as JSON").click()
    assert (await download.value).suggested_filename == "Rope one.json"
    await chat.page.get_by_label("Select Rope two").check()

    await bar.get_by_role("button", name="Archive").click()
    await expect(chat.page.get_by_text("2 chats were archived.")).to_be_visible()
    await expect(chat.chats.get_by_text("Rope two", exact=True)).to_have_count(0)
    await chat.button("Undo").click()
    await expect(chat.chats.get_by_text("Rope two", exact=True)).to_be_visible()

    await chat.choose("Rope three", "Select chats")
    await chat.chats.get_by_text("Rope one", exact=True).click()
    await bar.get_by_role("button", name="Delete").click()
    await chat.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(chat.page.get_by_text("2 chats were deleted.")).to_be_visible()
    await expect(chat.page).to_have_url(f"{chat.page.url.partition('/c/')[0].rstrip('/')}/")
    await expect(chat.chats.get_by_text("Rope three", exact=True)).to_have_count(0)
    assert (await chat.page.request.get(f"/api/conversations/{ids[0]}")).status == 404
