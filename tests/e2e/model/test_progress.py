"""The progress of a long prompt, on the page."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import expect

from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.test_chat_accessibility import violations_in_both
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import serving
from tests.sizes import PAGE

pytestmark = PAGE

LONG = "Describe a harbour in the morning, with its boats, its gulls and the people who work there. " * 220
"""About 4,400 tokens, for which no CPU computes all layers of the model within half a second."""
BLOCKS = 80


@pytest_asyncio.fixture(loop_scope="session")
async def server(page_files: Path, model_path: Path, tmp_path: Path) -> AsyncIterator[str]:
    config = engine_config(model_path, tmp_path / "state", redis_url="off", blocks=BLOCKS)
    async with serving(config, tmp_path, static=page_files) as (http, _):
        yield str(http._base_url)


async def test_long_question_shows_progress_until_it_is_stopped(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=8)
    await chat.send(LONG)
    bar = chat.page.get_by_role("progressbar")
    await expect(bar).to_have_accessible_name(
        re.compile(
            r"^Reading the conversation: [1-9][\d,]* of 4,\d\d\d tokens · (\d+ from [\w ]+ · )?about \d+ \w+ left$"
        ),
        timeout=ANSWER_MS,
    )
    done, total = [int(await bar.get_attribute(f"aria-value{name}") or 0) for name in ("now", "max")]
    assert 0 < done < total
    assert await chat.text_of_answer() == ""
    assert await violations_in_both(chat) == []
    await chat.button("Stop").click()
    await chat.expect_status("cancelled")
    await expect(bar).to_have_count(0)
