"""The progress of a long prompt, on the page."""

import re

from playwright.async_api import expect

from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.test_chat_accessibility import violations_in_both

LONG = "Describe a harbour in the morning, with its boats, its gulls and the people who work there. " * 220
"""About 4,400 tokens, which no CPU computes within half a second."""


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
