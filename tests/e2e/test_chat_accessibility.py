"""Accessibility: no axe-core violation on any view, light or dark; shortcuts, small screens and languages."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from cache_tiers.tier import DEVICE
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import one_turn, showcase
from tests.e2e.views import Views
from tests.sizes import LARGE, PAGE, Size

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
LANGUAGES = Path(__file__).parents[2] / "web" / "src" / "i18n"
# Without the elements that pass, whose description takes most of the time.
ALL = {"reporter": "v2", "resultTypes": ["violations"]}
CONTRAST = {**ALL, "runOnly": ["color-contrast"]}
FOUND = """async options => (await axe.run(document, options)).violations.map(
    ({id, nodes}) => [id, nodes.map(({target, failureSummary}) => `${target}: ${failureSummary}`)]
)"""

PHONE: dict[str, Any] = {"viewport": {"width": 320, "height": 568}, "has_touch": True, "is_mobile": True}
LONG = (
    f"{'word' * 100}\n\nhttps://example.org/{'path' * 50}\n\n`{'code' * 50}`\n\n- {'item' * 50}\n\n> {'quote' * 50}\n"
)
WIDE = (
    f"```\n{'a line of code ' * 20}\n```\n\n|{'a column|' * 14}\n|{'-|' * 14}\n|{'value|' * 14}\n\n$${'a+' * 60}b$$\n"
)
# Selectors of elements that overflow sideways and must not: the page, its scrollers, dialogs and alerts.
WIDER = """() => ["html", "[data-scroller]", ".scroll", "nav", "dialog[open]", "[role=alert] p"]
    .filter((selector) => [...document.querySelectorAll(selector)].some((e) => e.scrollWidth > e.clientWidth))"""
# Drawings that are smaller than the text around them asks for: their size in the markup is for a text of 16 px.
SMALL_ICONS = """() => {
    const grown = Math.min(parseFloat(getComputedStyle(document.documentElement).fontSize), innerWidth / 20) / 16;
    return [...document.querySelectorAll("svg[width]")].filter((each) => {
        const { width } = each.getBoundingClientRect();
        return width > 0 && width < each.getAttribute("width") * grown - 0.5;
    }).map((each) => each.outerHTML.slice(0, 120));
}"""
# With forced colours, the current chat, the chosen option and each tier's swatch must still stand out.
OUTLINED = "element => getComputedStyle(element).outlineStyle"
FILLED = "element => getComputedStyle(element).backgroundColor"


async def violations(chat: ChatPage, options: dict[str, Any]) -> list[Any]:
    if not await chat.page.evaluate("'axe' in window"):
        await chat.page.evaluate(AXE.read_text())
    found: list[Any] = await chat.page.evaluate(FOUND, options)
    return found


async def violations_in_both(chat: ChatPage) -> list[Any]:
    """Return the violations in light, and those of contrast in dark. The page is light again afterwards."""
    # A colour that is still changing has the contrast of neither.
    await chat.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = await violations(chat, ALL)
    await chat.page.emulate_media(color_scheme="dark")
    found += await violations(chat, CONTRAST)
    await chat.page.emulate_media(color_scheme="light")
    return found


@PAGE
async def test_no_view_has_violations_in_light_or_dark(new_page: NewPage, engine: ReplayEngine) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; run scripts/npm ci")
    engine.prefixes.place = DEVICE.id
    chat = await new_page(reduced_motion="reduce")
    for title, archived in (("Tides and tables", False), ("A chat of last year", True)):
        await chat.page.request.post("/api/import", data=showcase(title, archived))
    resumed = await chat.open_new_chat(tokens=2, title="Our week at sea")
    await chat.send("The tide is out, and we wait. " * 12)
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_role("img", name="Hot: kept in device memory").first).to_be_visible()

    for view in Views(chat, resumed).all():
        await view()
        assert (view.__name__, await violations_in_both(chat)) == (view.__name__, [])


@PAGE
async def test_narrow_screen_has_no_violations_and_no_overflow(new_page: NewPage) -> None:
    chat = await new_page(**PHONE)
    await chat.page.request.post("/api/import", data=showcase("Tides and tables"))
    await chat.page.goto("/")
    await chat.button("Open the list of chats").tap()
    assert await violations(chat, ALL) == []
    await chat.go_to_oldest_chats()
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


@PAGE
async def test_no_view_is_wider_than_smallest_screen(new_page: NewPage) -> None:
    chat = await new_page(**PHONE, reduced_motion="reduce")
    await chat.page.request.post("/api/import", data=showcase("Tides and tables"))
    long = await chat.take_in(one_turn("Long" * 30, "Why" * 60, LONG + WIDE))

    async def wide() -> None:
        await chat.page.goto(f"/c/{long}")
        await chat.page.locator(".katex").first.wait_for()

    views = Views(chat, await chat.open_new_chat(tokens=2, title="Narrow"), phone=True)
    await chat.composer.fill("The tide is out. " * 12)
    await chat.button("Send").tap()
    await chat.expect_status("incomplete")
    for view in (wide, views.editing, views.receipt, views.settings, views.search, views.deleting, views.trouble):
        await view()
        assert (view.__name__, await chat.page.evaluate(WIDER)) == (view.__name__, [])


@PAGE
async def test_settings_fit_a_phone_at_twice_the_text_size(new_page: NewPage) -> None:
    chat = await new_page(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    await chat.page.add_init_script("localStorage.setItem('ebb-text-size', '200')")
    await chat.open_new_chat(tokens=1, title="Large")
    await chat.button("Chat settings").tap()
    assert await chat.page.evaluate("getComputedStyle(document.body).fontSize") == "32px"
    assert await chat.page.evaluate(SMALL_ICONS) == []
    dialog = chat.page.locator("dialog[open]")
    assert await dialog.evaluate("each => each.scrollWidth <= each.clientWidth")
    fields = dialog.locator(".fields")
    assert await fields.evaluate("each => each.scrollWidth <= each.clientWidth")


@PAGE
@pytest.mark.parametrize(("width", "text_size"), [(1200, "200"), (800, "150"), (740, "100")])
async def test_title_in_header_is_whole_before_its_neighbours(new_page: NewPage, width: int, text_size: str) -> None:
    chat = await new_page(viewport={"width": width, "height": 800})
    await chat.page.add_init_script(f"localStorage.setItem('ebb-text-size', '{text_size}')")
    await chat.open_new_chat(tokens=2, title="Tides of the north")
    await chat.send("Hi")
    await chat.expect_status("incomplete")
    await expect(chat.header.get_by_title("How much of the context window", exact=False)).to_be_visible()
    title = chat.page.get_by_role("heading", level=1)
    assert await title.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert await chat.header.evaluate("each => each.scrollWidth <= each.clientWidth")


@PAGE
async def test_forced_colours_still_show_current_and_chosen_items(new_page: NewPage) -> None:
    chat = await new_page(forced_colors="active", color_scheme="light")
    for title in ("Another", "Current"):
        await chat.open_new_chat(tokens=1, title=title)
    rows = chat.page.get_by_role("listitem")
    assert await rows.filter(has_text="Current").first.evaluate(OUTLINED) == "solid"
    assert await rows.filter(has_text="Another").first.evaluate(OUTLINED) == "none"

    await chat.button("Settings").click()
    chosen, other = (chat.page.get_by_text(name, exact=True) for name in ("System", "Dark"))
    assert await chosen.evaluate(FILLED) != await other.evaluate(FILLED)

    await chat.page.goto("/live")
    await chat.page.get_by_role("region", name="Redis").wait_for()
    depths = [await swatch.evaluate(FILLED) for swatch in await chat.page.locator("h2 .swatch").all()]
    assert len(set(depths)) == 3


@PAGE
async def test_shortcuts_show_help_hide_chat_list_and_start_new_chat(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="Left by keyboard")
    await expect(chat.composer).to_be_focused()
    await expect(chat.page.get_by_role("heading", level=1)).to_have_text("Left by keyboard")
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


@PAGE
async def test_appearance_survives_reload_and_reaches_other_tabs(new_page: NewPage) -> None:
    chat = await new_page(color_scheme="light")
    await chat.page.goto("/")
    other = ChatPage(await chat.page.context.new_page())
    await other.page.goto("/")
    await expect(other.button("New chat")).to_be_visible()
    await chat.page.bring_to_front()
    await chat.button("Settings").click()
    await chat.page.get_by_label("Text size").fill("5")
    await expect(chat.page.get_by_text("135%")).to_be_visible()
    await chat.page.get_by_text("Dark", exact=True).click()
    await chat.page.get_by_label("Language").select_option("简体中文")
    await expect(chat.page.get_by_role("dialog", name="设置")).to_be_visible()
    for shown in (chat, other):
        assert await shown.page.evaluate("document.documentElement.dataset.theme") == "dark"
    await expect(other.button("新对话")).to_be_visible()

    await chat.page.reload()
    await expect(chat.button("新对话")).to_be_visible()
    # Icons grow with the text.
    assert await chat.button("设置").locator("svg").evaluate("icon => icon.clientWidth") == 27
    styles = "getComputedStyle(document.body).fontSize + ' ' + getComputedStyle(document.body).colorScheme"
    assert await chat.page.evaluate(styles) == "21.6px dark"
    assert await chat.page.evaluate("document.documentElement.lang") == "zh"


@PAGE
async def test_open_menu_closes_when_another_tab_changes_language(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="In any language")
    other = await chat.page.context.new_page()
    await other.goto("/")
    await chat.page.bring_to_front()
    menu = chat.header.locator("[aria-haspopup=menu]")
    await menu.click()
    items = chat.page.get_by_role("menuitem")
    await expect(items.first).to_be_focused()

    await other.evaluate("localStorage.setItem('ebb-language', 'de')")
    await expect(menu).to_be_focused()
    await expect(items).to_have_count(0)
    await menu.click()
    await expect(items.filter(has_text="Umbenennen")).to_be_visible()


@PAGE
@pytest.mark.parametrize(
    ("locale", "tag", "direction"),
    [
        ("ar-EG", "ar", "rtl"),
        pytest.param("zh-TW", "zh-Hant", "ltr", marks=PAGE),
        pytest.param("de-CH", "de", "ltr", marks=LARGE),
        pytest.param("ru-RU", "ru", "ltr", marks=LARGE),
    ],
)
async def test_page_is_in_the_browsers_language(new_page: NewPage, locale: str, tag: str, direction: str) -> None:
    chat = await new_page(**PHONE, locale=locale, reduced_motion="reduce")
    await chat.page.goto("/")
    await chat.button(text_in(tag, "chats", "open")).tap()
    shown = await chat.page.evaluate("[document.documentElement.lang, document.documentElement.dir]")
    assert shown == [tag, direction]
    assert (await violations(chat, ALL), await chat.page.evaluate(WIDER)) == ([], [])
    await chat.button(text_in(tag, "views", "settings")).tap()
    await expect(chat.page.get_by_role("dialog")).to_be_visible()
    assert (await violations(chat, ALL), await chat.page.evaluate(WIDER)) == ([], [])
    await chat.page.goto("/live")
    await chat.page.get_by_role("region", name="Redis").wait_for()
    assert (await violations(chat, ALL), await chat.page.evaluate(WIDER)) == ([], [])


@PAGE
async def test_list_and_menu_fit_a_phone_in_all_languages(new_page: NewPage, size: Size) -> None:
    chat = await new_page(**PHONE, reduced_motion="reduce")
    await chat.page.goto("/")
    for tag in size.pick(small=["ta", "el", "fa"], full=sorted(folder.name for folder in LANGUAGES.glob("*/"))):
        await chat.page.evaluate("tag => localStorage.setItem('ebb-language', tag)", tag)
        await chat.page.reload()
        await chat.button(text_in(tag, "chats", "open")).tap()
        await chat.button(text_in(tag, "views", "settings")).tap()
        await expect(chat.page.get_by_role("dialog")).to_be_visible()
        assert (tag, await chat.page.evaluate(WIDER)) == (tag, [])


def text_in(tag: str, topic: str, name: str) -> str:
    """Return a text of the page in a language."""
    page = (LANGUAGES / tag / "page.ts").read_text()
    found = re.search(rf'\n  {topic}: {{.*?\n    {name}: "(.*?)"', page, re.DOTALL)
    assert found is not None
    return found[1]
