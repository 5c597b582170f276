"""Browsers that lack something: cookies, or a function that the page uses."""

import json
from pathlib import Path

import pytest
from playwright.async_api import async_playwright, expect

from bench.chromium import FLAGS
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.sizes import PAGE

BLOCKED = 2
"""Chromium's content setting for what a person blocks."""


@PAGE
async def test_page_works_where_cookies_are_blocked(whole_browser_path: str, server: str, tmp_path: Path) -> None:
    profile = tmp_path / "Default"
    profile.mkdir()
    settings = {"profile": {"default_content_setting_values": {"cookies": BLOCKED}}}
    (profile / "Preferences").write_text(json.dumps(settings))
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path, executable_path=whole_browser_path, args=FLAGS, base_url=server
        )
        chat = ChatPage(await context.new_page())
        errors = list[str]()
        chat.page.on("pageerror", lambda error: errors.append(str(error)))
        await chat.page.goto("/")
        assert await chat.page.evaluate("() => { try { return localStorage && false } catch { return true } }")
        await chat.open_new_chat(tokens=1)
        await chat.send("When is high water?")
        await chat.expect_status("incomplete")
        await chat.button("Settings").click()
        await chat.page.get_by_text("Dark", exact=True).click()
        await expect(chat.page.locator("html")).to_have_attribute("data-theme", "dark")
        await context.close()
    assert errors == []


@PAGE
@pytest.mark.parametrize("lacking", ["delete Map.groupBy", "delete HTMLElement.prototype.popover"])
async def test_old_browser_gets_a_sentence(new_page: NewPage, lacking: str) -> None:
    chat = await new_page()
    await chat.page.add_init_script(lacking)
    await chat.page.goto("/")
    await expect(chat.page.get_by_role("alert")).to_contain_text("Ebb cannot start in this browser.")
    await expect(chat.composer).to_have_count(0)


async def test_failing_start_says_so(new_page: NewPage) -> None:
    chat = await new_page()
    await chat.page.route("**/assets/*.js", lambda route: route.abort())
    await chat.page.goto("/")
    await expect(chat.page.get_by_role("alert")).to_contain_text("reload the page")
