"""Elements of models' answers, as a person sees them: footnotes, keys, folded parts, equations, code and diffs."""

import asyncio

from playwright.async_api import Locator, expect

from tests.e2e.conftest import DEADLINE_MS, NewPage
from tests.e2e.showcase import ANSWER, QUESTION, one_turn
from tests.e2e.test_chat_reading import WAIT_FOR_TEXT

BURNING = r"\ce{2H2 + O2 -> 2H2O}"
IS_CUT = "element => element.scrollWidth > element.clientWidth"
TRANSPARENT = "rgba(0, 0, 0, 0)"
STYLE = "(element, name) => getComputedStyle(element)[name]"


async def background(element: Locator) -> str:
    colour: str = await element.evaluate(STYLE, "backgroundColor")
    return colour


async def test_elements_that_models_write_are_shown_and_usable(new_page: NewPage) -> None:
    # Wide enough for the chat, and too narrow for the longest line of code.
    chat = await new_page(viewport={"width": 640, "height": 800}, permissions=["clipboard-read", "clipboard-write"])
    await chat.open_imported(one_turn("What models write", QUESTION, f"{ANSWER}\nHydrogen burns: ${BURNING}$.\n"))
    answer, address = chat.answers.last, chat.page.url

    reference = answer.get_by_role("link", name="Footnote 1")
    notes = answer.get_by_role("region", name="Footnotes")
    await expect(notes).to_contain_text("Sailors used it long before computers.")
    await reference.click()
    await expect(notes.locator("[tabindex]")).to_be_focused()
    await notes.get_by_role("link", name="Back to reference 1").click()
    await expect(reference).to_be_focused()
    await expect(reference).to_be_in_viewport()
    assert chat.page.url == address

    key = answer.get_by_text("F5", exact=True)
    assert await key.evaluate(STYLE, "borderTopStyle") == "solid"
    folded = answer.get_by_text("The Earth turns below two bulges of water.")
    await expect(folded).to_be_hidden()
    await answer.get_by_text("Why twice a day?").click()
    await expect(folded).to_be_visible()

    equation = answer.get_by_role("paragraph").filter(has_text="Hydrogen burns").locator(".katex")
    await expect(equation).to_be_visible()
    await expect(answer).not_to_contain_text("$")
    await equation.dblclick()
    await chat.page.keyboard.press("Control+C")
    async with asyncio.timeout(DEADLINE_MS / 1000):
        await chat.page.evaluate(WAIT_FOR_TEXT, f"${BURNING}$")

    code = answer.get_by_role("group", name="Code, python")
    wrap = answer.get_by_role("button", name="Wrap lines").first
    assert await code.evaluate(IS_CUT)
    await wrap.click()
    await expect(wrap).to_have_attribute("aria-pressed", "true")
    assert not await code.evaluate(IS_CUT)

    diff = answer.get_by_role("group", name="Code, diff")
    removed, added = (diff.get_by_text(line, exact=True) for line in ("- tide = low", "+ tide = high"))
    await expect(removed).to_be_visible()
    colours = {TRANSPARENT, *[await background(element) for element in (removed, added, diff)]}
    assert len(colours) == 4
