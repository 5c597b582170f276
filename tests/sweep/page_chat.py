"""A chat on the page of a server in a separate process."""

from playwright.async_api import async_playwright, expect

from bench.chromium import launch_chromium
from tests.e2e.chat_page import ChatPage

QUESTION = "What do the tides follow?"
TOKENS = 24


async def chat_on_the_page(url: str) -> None:
    """Ask twice on the page, and read the chat again after a reload. The page may raise no error."""
    faults: list[str] = []
    async with async_playwright() as playwright:
        browser = await launch_chromium(playwright, shell=True)
        page = await browser.new_page(base_url=url)
        page.on("pageerror", lambda error: faults.append(str(error)))
        chat = ChatPage(page)
        await chat.open_new_chat(tokens=TOKENS, title="Tides")
        for number in (1, 2):
            await chat.send(QUESTION)
            await expect(chat.answers).to_have_count(number)
            await chat.expect_status("incomplete")
        text = await chat.text_of_answer()
        await page.reload()
        await expect(chat.questions).to_have_text([QUESTION, QUESTION])
        assert await chat.text_of_answer() == text
        await browser.close()
    assert faults == []
