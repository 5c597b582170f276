"""Recovery of an answer, without a lost word, after a network failure or a killed server."""

import asyncio

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.server_process import ServerProcess

UNREACHABLE = "Server unreachable, trying again"


async def ask(chat: ChatPage) -> str:
    """Ask for an answer that takes a few seconds, and wait for its first words. Return the conversation's id."""
    conversation = await chat.open_new_chat(tokens=8)
    await chat.send("Tell me about harbours.")
    await chat.expect_status("incomplete")
    await chat.lengthen_answers(conversation, seconds=5)
    await chat.send("Tell me more.")
    await expect(chat.answers).to_have_count(2)
    await chat.until_writing(characters=20)
    return conversation


async def expect_whole(chat: ChatPage, conversation: str, before: str) -> None:
    """Wait for the end of the answer; assert that it continues `before` and that the page shows what is stored."""
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_text(UNREACHABLE)).to_have_count(0)
    await expect(chat.answers).to_have_count(2)
    answer = (await chat.stored(conversation))["messages"][-1]
    await chat.toggle_raw(chat.answers.last)
    shown = await chat.answers.last.locator("pre.raw").text_content() or ""
    assert shown == answer["content"]
    assert shown.strip().startswith(before.strip()[:20])
    assert len(shown) > len(before)


async def test_answer_continues_after_network_outage(chat: ChatPage) -> None:
    conversation = await ask(chat)

    await chat.page.context.set_offline(True)
    await expect(chat.page.get_by_text(UNREACHABLE)).to_be_visible()
    await expect(chat.answers.last).to_contain_text("Connection lost.")
    before = await chat.text_of_answer()
    await chat.page.context.set_offline(False)

    await expect_whole(chat, conversation, before)


async def test_answer_continues_in_its_bubble_after_server_kill(chat: ChatPage, server_process: ServerProcess) -> None:
    conversation = await ask(chat)
    bubble = await chat.answers.last.element_handle()

    server_process.kill()
    await expect(chat.page.get_by_text(UNREACHABLE)).to_be_visible()
    before = await chat.text_of_answer()
    await asyncio.to_thread(server_process.start)

    await expect_whole(chat, conversation, before)
    assert bubble is not None
    assert await bubble.get_attribute("data-status") == "incomplete"
