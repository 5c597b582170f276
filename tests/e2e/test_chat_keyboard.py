"""Keyboard use: every action without a mouse, the focus after it, and Escape, which closes one layer at a time."""

import re

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import showcase
from tests.sizes import PAGE

pytestmark = PAGE


async def press(chat: ChatPage, *keys: str) -> None:
    for key in keys:
        await chat.page.keyboard.press(key)


async def choose(chat: ChatPage, title: str, item: str) -> None:
    """Choose `item` in the menu of the chat `title`, which must have the focus in the list."""
    await expect(chat.chats.get_by_text(title, exact=True)).to_be_focused()
    await press(chat, "Tab")
    await expect(chat.menu_of(title)).to_be_focused()
    await press(chat, "Enter")
    entry = chat.page.get_by_role("menuitem", name=item, exact=True)
    await expect(chat.page.get_by_role("menuitem", name="Rename", exact=True)).to_be_focused()
    while not await entry.evaluate("element => element === document.activeElement"):
        await press(chat, "ArrowDown")
    await press(chat, "Enter")


async def test_chat_list_can_be_searched_walked_and_changed_by_keys(chat: ChatPage) -> None:
    for title in ("Capstan by keys", "Bollard by keys", "Anchor by keys"):
        await chat.new_chat(tokens=1, title=title)
    first, second, third = (
        chat.chats.get_by_text(title, exact=True) for title in ("Anchor by keys", "Bollard by keys", "Capstan by keys")
    )
    await chat.page.goto("/live")
    await expect(first).to_be_visible()
    await press(chat, "Tab")
    await expect(chat.button("Skip the list of chats")).to_be_focused()

    await press(chat, "Control+Shift+F")
    await chat.page.keyboard.type("Bollar")
    await expect(chat.page.get_by_role("navigation", name="Found").get_by_role("link")).to_have_count(1)
    await press(chat, "Enter")
    await expect(chat.page.get_by_role("heading", name="Bollard by keys")).to_be_visible()
    await press(chat, "Control+Shift+F", "Escape", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp")
    await choose(chat, "Bollard by keys", "Pin")
    await expect(chat.page.get_by_role("heading", name="Pinned")).to_be_visible()
    await expect(second).to_be_focused()
    await choose(chat, "Bollard by keys", "Unpin")
    await expect(second).to_be_focused()

    await choose(chat, "Bollard by keys", "Archive")
    await expect(third).to_be_focused()
    await press(chat, "Control+z")
    await expect(second).to_be_visible()
    await press(chat, "ArrowUp")
    await choose(chat, "Bollard by keys", "Rename")
    await expect(chat.page.get_by_label("Name of the chat")).to_be_focused()
    await press(chat, "Escape", "Shift+Tab", "ArrowUp")

    await choose(chat, "Anchor by keys", "Delete")
    await expect(chat.page.get_by_role("dialog")).to_be_visible()
    await press(chat, "Escape")
    await expect(chat.menu_of("Anchor by keys")).to_be_focused()
    await press(chat, "Shift+Tab")
    await choose(chat, "Anchor by keys", "Delete")
    await expect(chat.page.get_by_role("dialog")).to_be_visible()
    await press(chat, "Tab", "Enter")
    await expect(second).to_be_focused()
    await press(chat, "Control+z")
    await expect(first).to_be_visible()


async def test_escape_closes_only_topmost_layer(new_page: NewPage) -> None:
    chat = await new_page(viewport={"width": 600, "height": 700})
    await chat.open_new_chat(tokens=1, title="Under the drawer")
    listed = chat.chats.get_by_text("Under the drawer", exact=True)
    await chat.button("Open the list of chats").press("Enter")
    await expect(listed).to_be_visible()
    await press(chat, "Control+Shift+F")
    await chat.page.keyboard.type("nothing of it")
    await expect(listed).to_have_count(0)
    await press(chat, "Escape")
    await expect(listed).to_be_visible()
    await press(chat, "ArrowDown")
    await choose(chat, "Under the drawer", "Delete")
    await expect(chat.page.get_by_role("dialog")).to_be_visible()
    await press(chat, "Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await press(chat, "Enter")
    await expect(chat.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await press(chat, "Escape")
    await expect(chat.page.get_by_role("menuitem")).to_have_count(0)
    await expect(chat.menu_of("Under the drawer")).to_be_focused()
    await press(chat, "Escape")
    await expect(chat.page.get_by_role("complementary")).to_have_count(0)
    await expect(chat.button("Open the list of chats")).to_be_focused()


async def test_message_is_edited_and_versions_switched_by_keys(chat: ChatPage) -> None:
    await chat.open_imported(showcase("Versions by keys"))
    await expect(chat.answers.last).to_contain_text("Tides")
    # An answer that had already finished must not be announced.
    await expect(chat.page.get_by_text("Answer finished", exact=True)).to_have_count(0)
    edit, before = chat.button("Edit question"), chat.button("Previous version")
    await edit.press("Enter")
    await expect(chat.page.get_by_label("Edited question")).to_be_focused()
    await press(chat, "Escape")
    await expect(edit).to_be_focused()

    await before.focus()
    await expect(before).to_be_in_viewport()
    await press(chat, "ArrowLeft")
    await expect(chat.answers.last).to_contain_text("The Moon pulls.")
    await expect(chat.page.get_by_role("group", name="Version 1 of 2")).to_be_visible()
    await press(chat, "ArrowRight")
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await expect(before).to_be_focused()
    await expect(before).to_be_in_viewport()
    assert await chat.page.evaluate("document.documentElement.scrollHeight <= innerHeight")


async def test_shortcut_gets_other_keys_and_default_ones_again(chat: ChatPage) -> None:
    await chat.page.goto("/live")
    await chat.page.get_by_role("region", name="Redis").wait_for()
    await press(chat, "Control+/")
    change = chat.button("Change the keys: New chat")
    await change.click()
    await press(chat, "Control+k")
    refusal = chat.page.get_by_role("dialog").get_by_role("alert")
    await expect(refusal).to_have_text("Ctrl+K is in use: Search chats and commands. Choose other keys.")
    await press(chat, "Control+c")
    await expect(refusal).to_contain_text("belongs to the browser")
    await press(chat, "Control+Shift+J")
    await expect(refusal).to_have_count(0)
    await press(chat, "Escape")
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)

    await chat.page.reload()
    await chat.page.get_by_role("region", name="Redis").wait_for()
    await press(chat, "Control+Shift+O")
    await expect(chat.page).to_have_url(re.compile("/live$"))
    await press(chat, "Control+Shift+J")
    await expect(chat.page.get_by_role("heading", name="Ebb")).to_be_visible()
    await press(chat, "Control+/")
    await chat.button("Restore the default keys").click()
    await expect(chat.button("Restore the default keys")).to_have_count(0)
    await press(chat, "Escape", "Control+k")
    await expect(chat.page.get_by_role("dialog").get_by_role("combobox")).to_be_visible()
