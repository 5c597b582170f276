"""Exports of other applications, dropped on the page: previewed, imported and opened."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.file_drag import FileDrag
from tests.sizes import PAGE

pytestmark = PAGE

QUESTION, FIRST, SECOND = "When is high water?", "At six.", "At seven, in summer."


def claude() -> list[dict[str, Any]]:
    def message(minute: int, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
        name, parent, sender = ("q", "root", "human") if minute == 0 else (f"a{minute}", "q", "assistant")
        written = {"content": content, "created_at": f"2026-03-01T10:{minute:02}:00.5Z"}
        return {"uuid": name, "parent_message_uuid": parent, "sender": sender, **written, **fields}

    def text(text: str) -> dict[str, Any]:
        return {"type": "text", "text": text}

    messages = [
        message(0, text(QUESTION), files=[{"file_name": "chart.png"}]),
        message(1, text(FIRST)),
        message(2, {"type": "thinking", "thinking": "Which season?"}, text(SECOND)),
    ]
    chat = {"uuid": "claude-tides", "name": "Tides of Claude", "created_at": "2026-03-01T10:00:00Z"}
    return [{**chat, "chat_messages": messages}]


def librechat() -> dict[str, Any]:
    def message(minute: int, **fields: Any) -> dict[str, Any]:
        created = f"2026-03-01T10:{minute:02}:00Z"
        return {"messageId": str(minute), "isCreatedByUser": minute == 0, "createdAt": created, **fields}

    thought = [{"type": "think", "think": "Which season?"}, {"type": "text", "text": {"value": SECOND}}]
    answers = [message(1, text=FIRST), message(2, content=thought)]
    question = message(0, text=QUESTION, files=[{"filename": "chart.png"}], children=answers)
    return {"conversationId": "librechat-tides", "title": "Tides of LibreChat", "messages": [question]}


def open_webui() -> list[dict[str, Any]]:
    def message(minute: int, content: str, **fields: Any) -> dict[str, Any]:
        parent, role = (None, "user") if minute == 0 else ("0", "assistant")
        written = {"content": content, "timestamp": 1_700_000_000 + minute}
        return {"parentId": parent, "role": role, **written, **fields}

    folded = '<details type="reasoning" done="true"><summary>Thought</summary>\n&gt; Which season?\n</details>\n'
    messages = {
        "0": message(0, QUESTION, files=[{"type": "file"}]),
        "1": message(1, FIRST),
        "2": message(2, folded + SECOND),
    }
    inner = {"history": {"currentId": "2", "messages": messages}}
    return [{"id": "open-webui-tides", "title": "Tides of Open WebUI", "chat": inner, "created_at": 1_700_000_000}]


def llama_cpp() -> list[dict[str, Any]]:
    """Return the records of the lines."""

    def message(minute: int, content: str, **fields: Any) -> dict[str, Any]:
        parent, role = ("root", "user") if minute == 0 else ("0", "assistant")
        written = {"content": content, "timestamp": 1_700_000_000_000 + minute}
        return {"type": "message", "message": {"id": str(minute), "parent": parent, "role": role, **written, **fields}}

    head = {"type": "session", "harness": "llama.app", "id": "llama-tides", "name": "Tides of llama.cpp"}
    files = [{"type": "PDF", "name": "chart.pdf", "content": "", "processedAsImages": True}]
    answers = [message(1, FIRST), message(2, SECOND, reasoningContent="Which season?")]
    return [{**head, "currNode": "2"}, message(0, QUESTION, extra=files), *answers]


EXPORTS = {"Claude": claude, "LibreChat": librechat, "llama.cpp": llama_cpp, "Open WebUI": open_webui}


def file_of(application: str, folder: Path) -> Path:
    """Write the export as the application provides it: Claude and llama.cpp as an archive, the others as JSON."""
    export = EXPORTS[application]()
    if application not in ("Claude", "llama.cpp"):
        file = folder / "export.json"
        file.write_text(json.dumps(export))
        return file
    with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        if application == "Claude":
            archive.writestr("conversations.json", json.dumps(export))
        else:
            archive.writestr("2026-03-01_conv_tides.jsonl", "\n".join(map(json.dumps, export)))
    return folder / "export.zip"


@pytest.mark.parametrize("application", EXPORTS)
async def test_dropped_export_is_previewed_and_opened(chat: ChatPage, tmp_path: Path, application: str) -> None:
    await chat.page.goto("/")
    await chat.open_menu_item("Import chats…")
    dialog = chat.page.get_by_role("dialog", name="Import chats")
    zone = await dialog.locator("label").filter(has_text="Drop a file here").bounding_box()
    assert zone is not None
    centre = zone["x"] + zone["width"] / 2, zone["y"] + zone["height"] / 2
    drag = await FileDrag.begin(chat.page, file_of(application, tmp_path))
    await drag.move("dragEnter", *centre)
    await drag.move("dragOver", *centre)
    await drag.move("drop", *centre)

    await expect(dialog.get_by_text(f"1 chat from {application}")).to_be_visible()
    row = dialog.get_by_role("listitem")
    await expect(row).to_contain_text(f"Tides of {application}")
    await expect(row).to_contain_text("3 messages · 2 branches · left out: 1 file")
    await expect(dialog.get_by_role("button", name="Import 1 chat")).to_be_focused()
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_text("1 chat was imported.")).to_be_visible()
    await expect(chat.page.get_by_role("list", name="Files of this message")).to_have_count(0)

    await chat.go_to_oldest_chats()
    await chat.chats.get_by_text(f"Tides of {application}", exact=True).click()
    await expect(chat.questions).to_have_text([QUESTION])
    await expect(chat.answers.get_by_text(SECOND)).to_be_visible()
    await expect(chat.answers.get_by_text("Which season?")).to_be_hidden()
    await chat.page.get_by_role("group", name="Version 2 of 2").get_by_role("button").first.click()
    await expect(chat.answers.get_by_text(FIRST)).to_be_visible()


async def test_dialogs_keep_dropped_files_from_the_composer(chat: ChatPage, tmp_path: Path) -> None:
    await chat.page.goto("/")
    await chat.open_menu_item("Import chats…")
    dialog = chat.page.get_by_role("dialog", name="Import chats")
    await expect(dialog).to_be_visible()
    corner = 5.0, 5.0
    drag = await FileDrag.begin(chat.page, file_of("LibreChat", tmp_path))
    await drag.move("dragEnter", *corner)
    await drag.move("drop", *corner)
    await expect(dialog.get_by_text("1 chat from LibreChat")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(chat.page.get_by_role("list", name="Files of this message")).to_have_count(0)


async def test_every_bad_file_is_listed_with_its_name(chat: ChatPage, tmp_path: Path) -> None:
    # The other tests of this file have imported the usual one.
    good = [{**open_webui()[0], "id": "open-webui-other"}]
    texts = {"notes.json": "[1]", "broken.json": '[{"mapping": ', "good.json": json.dumps(good)}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("photos/tide.txt", "x")
    await chat.page.goto("/")
    await chat.open_menu_item("Import chats…")
    dialog = chat.page.get_by_role("dialog", name="Import chats")
    await dialog.locator("input[type=file]").set_input_files([tmp_path / name for name in (*texts, "photos.zip")])
    problems = dialog.get_by_role("alert")
    await expect(problems).to_contain_text(
        ["notes.json was not read.", "broken.json is damaged and cannot be read.", "photos.zip contains no"]
    )
    await expect(problems.filter(has_text="settings")).to_have_count(0)
    await expect(dialog.get_by_role("button", name="Import 1 chat")).to_be_focused()
    await dialog.get_by_role("button", name="Choose another file").click()
    await expect(problems).to_have_count(0)


async def test_long_list_of_an_import_is_drawn_as_it_is_scrolled(chat: ChatPage, tmp_path: Path) -> None:
    chats = [{**open_webui()[0], "id": f"open-webui-{number}", "title": f"Tide {number}"} for number in range(300)]
    file = tmp_path / "export.json"
    file.write_text(json.dumps(chats))
    await chat.page.goto("/")
    await chat.open_menu_item("Import chats…")
    dialog = chat.page.get_by_role("dialog", name="Import chats")
    await dialog.locator("input[type=file]").set_input_files(file)
    rows = dialog.get_by_role("listitem")
    await expect(rows).to_have_count(100)
    await expect(rows.first).to_have_attribute("aria-setsize", "300")
    await expect(dialog.get_by_role("button", name="Import 300 chats")).to_be_focused()
    # To move the focus, Chromium lays out each row that is not: one at a time, which froze the page.
    assert await rows.last.evaluate("row => getComputedStyle(row).contentVisibility") == "visible"
    await dialog.get_by_role("button", name="Choose another file").focus()
    await chat.page.keyboard.press("Shift+Tab")
    await expect(rows.nth(99).get_by_role("checkbox")).to_be_focused()
    await expect(rows).to_have_count(200)
    await chat.page.keyboard.press("Tab")
    await expect(rows.nth(100).get_by_role("checkbox")).to_be_focused()
