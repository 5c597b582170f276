"""Copying on a page that is served over plain HTTP, where browsers have no asynchronous clipboard."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Page, async_playwright, expect

from bench.chromium import FLAGS
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.showcase import ANSWER, QUESTION, showcase
from tests.integration.api_server import running_server
from tests.sizes import PAGE

pytestmark = PAGE

NAME = "ebb.local"
"""Name of the server in its network. Browsers trust a loopback address, even without TLS."""

PASTED = """() => {
    window.pasted = {};
    addEventListener("paste", ({clipboardData}) => {
        for (const type of clipboardData.types) window.pasted[type] = clipboardData.getData(type);
    }, {capture: true});
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def insecure_page(chromium_path: str, tmp_path: Path) -> AsyncIterator[ChatPage]:
    """Open a chat at a name of the network, with an imported question and answer."""
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    async with (
        running_server(tmp_path, ReplayEngine(), static=STATIC, bound_host="0.0.0.0") as server,
        async_playwright() as playwright,
    ):
        flags = [*FLAGS, f"--host-resolver-rules=MAP {NAME} 127.0.0.1"]
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=flags)
        page = await browser.new_page(base_url=server.url)
        chat = ChatPage(page)
        conversation = await chat.take_in(showcase("To be copied"))
        await page.goto(f"http://{NAME}:{urlsplit(server.url).port}/c/{conversation}")
        assert not await page.evaluate("isSecureContext")
        await page.evaluate(PASTED)
        yield chat
        await browser.close()


async def paste(page: Page) -> dict[str, str]:
    """Paste into the composer, and return the forms of the pasted text by their types."""
    await page.evaluate("window.pasted = {}")
    await ChatPage(page).composer.press("Control+V")
    forms: dict[str, str] = await page.evaluate("window.pasted")
    return forms


async def test_answer_code_and_question_are_copied_over_http(insecure_page: ChatPage) -> None:
    chat, page = insecure_page, insecure_page.page
    answer = chat.answers.last
    await answer.get_by_role("button", name="Copy answer").click()
    await expect(answer.get_by_text("Copied").last).to_be_visible()
    forms = await paste(page)
    assert forms["text/plain"] == ANSWER
    assert ">Bay of Fundy</td>" in forms["text/html"]

    await answer.get_by_role("button", name="Copy code").first.click()
    assert await paste(page) == {"text/plain": ANSWER.partition("```python\n")[2].partition("\n```")[0]}

    select = "element => { getSelection().selectAllChildren(element); return getSelection().toString(); }"
    selected = await answer.get_by_role("heading").first.evaluate(select)
    copy_question = chat.button("Copy question")
    await copy_question.focus()
    await page.keyboard.press("Enter")
    assert await page.evaluate("getSelection().toString()") == selected
    await expect(copy_question).to_be_focused()
    assert await paste(page) == {"text/plain": QUESTION}
