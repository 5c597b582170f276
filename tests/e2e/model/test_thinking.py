"""A tiny openPangu-Embedded model on the real engine: thoughts are shown separately and can be turned off."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from tests.conftest import default_cache_dir
from tests.e2e.chat_page import ChatPage
from tests.integration.real_server import serving
from tests.sizes import PAGE
from tests.tiny_openpangu import ANSWER, THOUGHT, write_thinking_openpangu

pytestmark = PAGE


@pytest_asyncio.fixture(loop_scope="session")
async def server(page_files: Path, tmp_path: Path) -> AsyncIterator[str]:
    config = EngineConfig(
        model=ModelConfig(path=write_thinking_openpangu(tmp_path / "tiny-openpangu"), name="tiny-openpangu"),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests", kv_memory=16 << 20),
        device=DeviceConfig(cache_dir=default_cache_dir()),
    )
    async with serving(config, tmp_path, static=page_files) as (http, _):
        yield str(http._base_url)


async def test_thoughts_are_folded_above_answer_until_turned_off(chat: ChatPage) -> None:
    page, thoughts = chat.page, chat.page.get_by_test_id("reasoning")
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
