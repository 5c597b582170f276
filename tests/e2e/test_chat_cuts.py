"""Deletion of questions and versions, and copies of the beginning of a chat."""

from playwright.async_api import Locator, expect

from tests.e2e.chat_page import ChatPage
from tests.sizes import PAGE


async def choose(message: Locator, item: str) -> None:
    """Choose `item` in the menu below `message`."""
    await message.hover()
    await message.get_by_role("button", name="More actions for this").click()
    await message.page.get_by_role("menuitem", name=item, exact=True).click()


async def test_deleted_question_takes_later_messages_and_can_be_undone(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    for question in ("One?", "Two?", "Three?"):
        await chat.send(question)
        await chat.expect_status("incomplete")
    asked = chat.page.get_by_role("article", name="You")

    await choose(asked.nth(1), "Delete this and everything after")
    await expect(chat.questions).to_have_text(["One?"])
    await expect(chat.composer).to_be_focused()
    assert [message["content"] for message in (await chat.stored(conversation))["messages"][::2]] == ["One?"]
    await chat.button("Undo").click()
    await expect(chat.questions).to_have_text(["One?", "Two?", "Three?"])

    await choose(asked.first, "Delete this and everything after")
    await expect(chat.questions).to_have_count(0)
    await chat.send("Again?")
    await chat.expect_status("incomplete")
    await expect(chat.questions).to_have_text(["Again?"])


@PAGE
async def test_deleting_version_shows_the_other_one(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    await chat.send("One?")
    await chat.expect_status("incomplete")
    first = await chat.answers.last.get_attribute("data-message")

    await chat.button("Regenerate").click()
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.expect_status("incomplete")
    await choose(chat.answers.last, "Delete this answer")

    await expect(chat.answers).to_have_count(1)
    await expect(chat.answers.last).to_have_attribute("data-message", first or "")
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_have_count(0)
    await chat.button("Undo").click()
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()


@PAGE
async def test_question_without_answer_can_be_answered_again(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    await chat.send("One?")
    await chat.expect_status("incomplete")
    await expect(chat.button("Get an answer")).to_have_count(0)

    await choose(chat.answers.last, "Delete this answer")
    await expect(chat.answers).to_have_count(0)
    await expect(chat.questions).to_have_text(["One?"])
    await chat.button("Get an answer").click()

    await chat.expect_status("incomplete")
    await expect(chat.answers).to_have_count(1)
    await expect(chat.button("Get an answer")).to_have_count(0)


@PAGE
async def test_copy_of_chat_continues_from_any_answer(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Origin")
    for question in ("One?", "Two?"):
        await chat.send(question)
        await chat.expect_status("incomplete")

    await choose(chat.answers.first, "New chat from here")
    await expect(chat.questions).to_have_text(["One?"])
    assert conversation not in chat.page.url
    await chat.send("Otherwise?")
    await chat.expect_status("incomplete")
    await expect(chat.questions).to_have_text(["One?", "Otherwise?"])

    await chat.page.go_back()
    await expect(chat.questions).to_have_text(["One?", "Two?"])
