"""axe-core finds nothing to complain of on any view, light or dark; and keys, small screens and languages."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import showcase
from tests.e2e.views import Views

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
ALL = {"reporter": "v2"}
CONTRAST = {"reporter": "v2", "runOnly": ["color-contrast"]}
FOUND = """async options => (await axe.run(document, options)).violations.map(
    ({id, nodes}) => [id, nodes.map(({target, failureSummary}) => `${target}: ${failureSummary}`)]
)"""


async def violations(chat: ChatPage, options: dict[str, Any]) -> list[Any]:
    if not await chat.page.evaluate("'axe' in window"):
        await chat.page.evaluate(AXE.read_text())
    found: list[Any] = await chat.page.evaluate(FOUND, options)
    return found


async def test_no_view_has_a_violation_in_light_or_dark(new_page: NewPage) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not there; run scripts/npm ci")
    chat = await new_page(reduced_motion="reduce")
    for title, archived in (("Tides and tables", False), ("A chat of last year", True)):
        await chat.page.request.post("/api/import", data=showcase(title, archived))
    resumed = await chat.open_new_chat(tokens=2, title="Our week at sea")
    await chat.send("The tide is out, and we wait. " * 12)
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_role("img", name="Hot: kept in device memory").first).to_be_visible()

    for view in Views(chat, resumed).all():
        await chat.page.emulate_media(color_scheme="light")
        await view()
        assert (view.__name__, await violations(chat, ALL)) == (view.__name__, [])
        await chat.page.emulate_media(color_scheme="dark")
        assert (view.__name__, await violations(chat, CONTRAST)) == (view.__name__, [])


async def test_a_narrow_screen_and_its_drawer_have_no_violation_and_do_not_overflow(new_page: NewPage) -> None:
    chat = await new_page(viewport={"width": 320, "height": 568}, has_touch=True, is_mobile=True)
    await chat.page.request.post("/api/import", data=showcase("Tides and tables"))
    await chat.page.goto("/")
    await chat.button("Open the list of chats").tap()
    assert await violations(chat, ALL) == []
    await chat.chats.get_by_text("Tides and tables", exact=True).first.tap()
    await expect(chat.page.locator(".katex").first).to_be_visible()
    assert not await chat.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert await violations(chat, ALL) == []
    await chat.button("Branches of this chat").tap()
    await expect(chat.page.get_by_role("treeitem").first).to_be_visible()
    assert await violations(chat, ALL) == []
    await chat.page.keyboard.press("Escape")
    await chat.button("Open the list of chats").tap()
    await chat.page.get_by_role("link", name="Live").tap()
    await chat.page.get_by_text("The charts as a table").tap()
    await expect(chat.page.get_by_role("cell").first).to_be_visible()
    assert not await chat.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    assert await violations(chat, ALL) == []


async def test_keys_show_their_sheet_hide_the_list_and_make_a_new_chat(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="Left by keyboard")
    await expect(chat.composer).to_be_focused()
    await chat.page.keyboard.press("Control+b")
    await expect(chat.page.get_by_role("complementary")).to_have_count(0)
    await chat.page.keyboard.press("Control+b")
    await expect(chat.page.get_by_role("complementary")).to_be_visible()
    await chat.page.keyboard.press("Control+/")
    await expect(chat.page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await chat.page.keyboard.press("Control+Shift+O")
    await expect(chat.page.get_by_role("heading", name="Ebb")).to_be_visible()
    await expect(chat.composer).to_be_focused()


async def test_the_page_speaks_chinese_and_stays_dark_and_large_after_a_reload(new_page: NewPage) -> None:
    chat = await new_page(color_scheme="light")
    await chat.page.goto("/")
    await chat.button("More").click()
    await chat.page.get_by_role("menuitem", name="Appearance").click()
    for choice in ("Dark", "Large", "中文"):
        await chat.page.get_by_text(choice, exact=True).click()
    await expect(chat.page.get_by_role("dialog", name="外观")).to_be_visible()

    await chat.page.reload()
    await expect(chat.button("新对话")).to_be_visible()
    styles = "getComputedStyle(document.body).fontSize + ' ' + getComputedStyle(document.body).colorScheme"
    assert await chat.page.evaluate(styles) == "19px dark"
    assert await chat.page.evaluate("document.documentElement.lang") == "zh"
