"""Recovery of an answer, without a lost word, after a network failure."""

from playwright.async_api import expect

from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage

UNREACHABLE = "Server unreachable, trying again"


async def expect_whole(chat: ChatPage, conversation: str, before: str) -> None:
    """Wait for the end of the answer; assert that it continues `before` and that the page shows what is stored."""
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_text(UNREACHABLE)).to_have_count(0)
    await expect(chat.answers).to_have_count(1)
    answer = (await chat.stored(conversation))["messages"][-1]
    await chat.toggle_raw(chat.answers.last)
    shown = await chat.answers.last.locator("pre.raw").text_content() or ""
    assert shown == answer["content"]
    assert shown.strip().startswith(before.strip()[:20])
    assert len(shown) > len(before)


async def test_answer_continues_after_network_outage(chat: ChatPage, engine: ReplayEngine) -> None:
    conversation = await chat.open_new_chat(tokens=40)
    engine.hold()
    await chat.send("Tell me about harbours.")
    engine.allow(10)
    await chat.until_writing(characters=20)

    await chat.page.context.set_offline(True)
    await expect(chat.page.get_by_text(UNREACHABLE)).to_be_visible()
    await expect(chat.answers.last).to_contain_text("Connection lost.")
    before = await chat.text_of_answer()
    engine.allow(10)
    await chat.page.context.set_offline(False)
    engine.allow(None)

    await expect_whole(chat, conversation, before)
