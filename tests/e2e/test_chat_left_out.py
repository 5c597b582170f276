"""Chats that continue after their messages have filled the context window."""

from typing import Any

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage, answers_of
from tests.sizes import PAGE

LINE = "The tide is out.\n"
# Lines of each turn, of 17 tokens each. All do not fit into the window of 20,000 tokens, and the long turn leaves no
# room for the next ones.
LINES = (400, 1_000, 2)
TURNS = len(LINES)


def full_chat(name: str = "a-long-chat") -> dict[str, Any]:
    """Return a file to import with one chat that has filled the window, under its own id."""
    messages = [
        {
            "id": f"{name}-{turn}-{role}",
            "parent_id": parent,
            "role": role,
            "content": f"Part {turn + 1}. {LINE * LINES[turn]}" if role == "user" else "Noted.",
            "status": "complete",
            "created_at": turn + 1.0,
        }
        for turn in range(TURNS)
        for role, parent in (
            ("user", f"{name}-{turn - 1}-assistant" if turn else None),
            ("assistant", f"{name}-{turn}-user"),
        )
    ]
    chat = {
        "id": name,
        "title": "A long chat",
        "params": answers_of(2),
        "created_at": 1.0,
        "updated_at": 2.0,
        "head_id": f"{name}-{TURNS - 1}-assistant",
        "messages": messages,
    }
    return {"format": "ebb-conversations", "format_version": 2, "conversations": [chat]}


@PAGE
async def test_refused_question_offers_its_ways_out(chat: ChatPage) -> None:
    await chat.open_imported(full_chat("a-refused-chat"))
    # Sent before the page has counted it.
    await chat.page.route("**/api/prompt-size", lambda route: route.abort())
    await chat.composer.fill("When is high water?")
    await chat.composer.press("Enter")
    refused = chat.page.locator("article[data-message]", has_text="When is high water?")
    await expect(refused.get_by_role("button", name="Try again")).to_be_visible()
    await chat.page.unroute("**/api/prompt-size")
    await refused.get_by_role("button", name="Try again").click()

    await expect(refused.get_by_role("button", name="Summarize the first 4 messages")).to_be_visible()
    await expect(refused.get_by_role("button", name="Ask in a new chat")).to_be_visible()
    await expect(refused.get_by_role("button", name="Try again")).to_have_count(0)
    await refused.get_by_role("button", name="Send without the first 4 messages").click()
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_test_id("left-out")).to_have_text(
        "From here on, the model no longer sees the first 4 messages."
    )


@PAGE
async def test_full_chat_continues_without_its_first_messages(chat: ChatPage) -> None:
    conversation = await chat.open_imported(full_chat())
    await chat.composer.fill("When is high water?")
    warning = chat.page.get_by_role("group", name="The message is too long")
    await warning.get_by_role("button", name="Send without the first 4 messages").click()

    await chat.expect_status("incomplete")
    await expect(warning).to_have_count(0)
    await expect(chat.composer).to_have_value("")
    line = chat.page.get_by_test_id("left-out")
    await expect(line).to_have_text("From here on, the model no longer sees the first 4 messages.")
    await chat.answers.last.get_by_test_id("receipt").get_by_role("button").click()
    await expect(chat.answers.last.get_by_role("term").filter(has_text="Messages left out")).to_be_visible()

    # The next question fits, and no further notice is shown.
    await chat.send("And low water?")
    await chat.expect_status("incomplete")
    await expect(line).to_have_count(1)
    await chat.page.reload()
    await expect(line).to_have_count(1)
    messages = (await chat.stored(conversation))["messages"]
    assert [message["left_out"] for message in messages][-4:] == [4, 4, None, 4]
    assert messages[-1]["usage"]["prompt_tokens"] < messages[-3]["usage"]["prompt_tokens"] + 100
