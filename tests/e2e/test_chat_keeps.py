"""No word is lost: a network that goes away and a server that is killed in the middle of an answer."""

import asyncio

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.server_process import ServerProcess

UNREACHABLE = "Server unreachable, trying again"


async def ask(chat: ChatPage) -> str:
    """Ask for an answer that takes a few seconds, and wait for its first words; returns the conversation."""
    conversation = await chat.open_new_chat(tokens=8)
    await chat.send("Tell me about harbours.")
    await chat.expect_status("incomplete")
    await chat.lengthen_answers(conversation, seconds=5)
    await chat.send("Tell me more.")
    await expect(chat.answers).to_have_count(2)
    await chat.until_writing(characters=20)
    return conversation


async def expect_whole(chat: ChatPage, conversation: str, before: str) -> None:
    """The answer has ended, went on from `before`, and the page has of it what the server has."""
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_text(UNREACHABLE)).to_have_count(0)
    await expect(chat.answers).to_have_count(2)
    answer = (await chat.stored(conversation))["messages"][-1]
    await chat.answers.last.get_by_role("button", name="Raw text").click()
    shown = await chat.answers.last.locator("pre.raw").text_content() or ""
    assert shown == answer["content"]
    assert shown.strip().startswith(before.strip()[:20])
    assert len(shown) > len(before)


async def test_an_answer_goes_on_after_the_network_was_away(chat: ChatPage) -> None:
    conversation = await ask(chat)

    await chat.page.context.set_offline(True)
    await expect(chat.page.get_by_text(UNREACHABLE)).to_be_visible()
    await expect(chat.answers.last).to_contain_text("The connection broke.")
    before = await chat.text_of_answer()
    await chat.page.context.set_offline(False)

    await expect_whole(chat, conversation, before)


async def test_an_answer_goes_on_in_its_bubble_after_the_server_was_killed(
    chat: ChatPage, server_process: ServerProcess
) -> None:
    conversation = await ask(chat)
    bubble = await chat.answers.last.element_handle()

    server_process.kill()
    await expect(chat.page.get_by_text(UNREACHABLE)).to_be_visible()
    before = await chat.text_of_answer()
    await asyncio.to_thread(server_process.start)

    await expect_whole(chat, conversation, before)
    assert bubble is not None
    assert await bubble.get_attribute("data-status") == "incomplete"
