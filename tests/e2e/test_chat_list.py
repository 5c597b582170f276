"""The list of chats: each has its address, can be renamed and deleted."""

import re

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage


async def test_a_chat_is_renamed_in_place_and_stays_so(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Before")
    await chat.chats.get_by_text("Before", exact=True).hover()
    await chat.button("Rename Before").click()
    field = chat.page.get_by_label("Name of the chat")
    await expect(field).to_be_focused()

    await field.fill("After")
    await field.press("Enter")

    await expect(chat.chats.first).to_have_text("After")
    await expect(chat.page).to_have_title("After · Ebb")
    await expect(chat.button("Rename After")).to_be_focused()
    await chat.page.reload()
    await expect(chat.chats.first).to_have_text("After")
    assert (await chat.stored(conversation))["title"] == "After"


async def test_escape_leaves_the_name_as_it_was(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Kept")
    await chat.chats.get_by_text("Kept", exact=True).hover()
    await chat.button("Rename Kept").click()
    field = chat.page.get_by_label("Name of the chat")
    await field.fill("Not this")
    await field.press("Escape")

    await expect(chat.chats.first).to_have_text("Kept")
    assert (await chat.stored(conversation))["title"] == "Kept"


async def test_a_chat_is_deleted_only_after_a_yes_and_can_be_brought_back(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Doomed")
    await chat.chats.get_by_text("Doomed", exact=True).hover()
    await chat.button("Delete Doomed").click()
    await chat.button("Keep").click()
    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_be_visible()

    await chat.chats.get_by_text("Doomed", exact=True).hover()
    await chat.button("Delete Doomed").click()
    await expect(chat.page.get_by_role("dialog")).to_contain_text("“Doomed” and its messages can be brought back")
    await chat.button("Delete").click()
    await chat.button("Undo").click()
    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_be_visible()
    await expect(chat.page).to_have_url(re.compile(f"/c/{conversation}$"))

    await chat.chats.get_by_text("Doomed", exact=True).hover()
    await chat.button("Delete Doomed").click()
    await chat.button("Delete").click()

    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_have_count(0)
    await expect(chat.page).to_have_url(re.compile(r"/$"))
    await chat.page.reload()
    await expect(chat.button("New chat")).to_be_visible()
    await expect(chat.chats.get_by_text("Doomed", exact=True)).to_have_count(0)
    assert (await chat.page.request.get(f"/api/conversations/{conversation}")).status == 404


async def test_each_chat_has_its_address_and_back_goes_back(chat: ChatPage) -> None:
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
