"""Printing: the whole chat is on paper, including messages far off screen, without any controls."""

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.showcase import long_chat
from tests.sizes import PAGE

pytestmark = PAGE

MESSAGES = 160


async def test_whole_chat_is_printed(chat: ChatPage) -> None:
    await chat.open_imported(long_chat("A log on paper", MESSAGES))
    articles = chat.page.get_by_role("article")
    await expect(chat.answers.last).to_contain_text(f"Message {MESSAGES - 1} of the log.")
    assert await articles.count() < 100

    paper = await chat.page.pdf()
    assert paper.count(b"/Type /Page\n") > 10

    await chat.page.emulate_media(media="print", color_scheme="dark")
    await chat.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    await expect(articles).to_have_count(MESSAGES)
    await expect(chat.questions.first).to_have_text("Message **0** of the log.")
    await expect(chat.page.get_by_role("heading", name="A log on paper")).to_be_visible()
    await expect(chat.page.get_by_role("button")).to_have_count(0)
    await expect(chat.page.get_by_role("textbox")).to_have_count(0)
    await expect(chat.page.get_by_role("navigation")).to_have_count(0)
    assert await chat.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"

    await chat.page.evaluate("dispatchEvent(new Event('afterprint'))")
    await expect(articles).not_to_have_count(MESSAGES)
    await expect(chat.answers.last).to_contain_text(f"Message {MESSAGES - 1} of the log.")
