"""`ebb serve --model` with a tiny openPangu-Embedded folder: thoughts are shown separately and can be turned off."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.conftest import default_cache_dir
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.server_process import ebb_serve
from tests.tiny_openpangu import ANSWER, THOUGHT, write_thinking_openpangu


@pytest.fixture(scope="module")
def thinking_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    folder = tmp_path_factory.mktemp("thinking")
    model = write_thinking_openpangu(folder / "tiny-openpangu")
    # Share the compiled kernels with the other tests.
    cache = ("--cache-dir", str(default_cache_dir()))
    flags = ("--model", str(model), *cache, "--kv-memory", "16MiB", "--redis-url", "off")
    with ebb_serve(folder, *flags, "--cpu-kv-memory", "0") as url:
        yield url


async def test_thoughts_are_folded_above_answer_until_turned_off(browser: Browser, thinking_server: str) -> None:
    context = await browser.new_context(base_url=thinking_server)
    page = await context.new_page()
    chat, thoughts = ChatPage(page), page.get_by_test_id("reasoning")
    await page.goto("/")
    await chat.send("Hi")
    await chat.expect_status("complete")
    assert await chat.text_of_answer() == ANSWER
    await expect(thoughts).to_have_count(1)
    await expect(thoughts.get_by_text(THOUGHT)).to_be_hidden()
    await thoughts.get_by_text("Thoughts").click()
    await expect(thoughts.get_by_text(THOUGHT)).to_be_visible()

    await chat.button("Chat settings").click()
    await page.get_by_label("Thinking").select_option(label="Answer at once")
    await chat.button("Save").click()
    # An open dialog captures the keyboard.
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await chat.send("you are")
    await expect(chat.answers).to_have_count(2)
    await chat.expect_status("complete")
    assert await chat.text_of_answer() == ANSWER
    await expect(thoughts).to_have_count(1)

    await page.reload()
    await expect(chat.answers).to_have_count(2)
    await expect(thoughts).to_have_count(1)
    await context.close()
