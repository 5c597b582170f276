"""Reading: the rendering of answers, copying, stable selections, reuse details, and settings of a chat."""

import asyncio
import re

from playwright.async_api import Route, expect

from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Pieces
from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import ANSWER, QUESTION, showcase
from tests.sizes import PAGE

# Each waits for its form of the copy: Chromium writes the two one after the other. A promise given to
# `wait_for_function` counts as true before it is settled.
WAIT_FOR_TEXT = """async text => {
    while (await navigator.clipboard.readText() !== text) await new Promise(requestAnimationFrame);
}"""
WAIT_FOR_FORMATTED = """async () => {
    for (;;) {
        const [item] = await navigator.clipboard.read();
        if (item.types.includes("text/html")) return (await item.getType("text/html")).text();
        await new Promise(requestAnimationFrame);
    }
}"""

# Tokens of an answer in paragraphs.
ESSAY = [word for year in range(1800, 1810) for word in (" Ships", " of", f" {year}", " had", " sails.", "\n\n")]


@PAGE
async def test_tables_tasks_code_and_formulas_are_rendered(chat: ChatPage) -> None:
    await chat.open_imported(showcase("Set in type"))
    answer = chat.answers.last
    await expect(answer.get_by_role("heading", name="Tides", exact=True)).to_be_visible()
    await expect(answer.locator(".katex").first).to_be_visible()
    row = answer.get_by_role("table").get_by_role("row").nth(1)
    await expect(row.get_by_role("cell")).to_have_text(["Bay of Fundy", "16.3 m", "twice a day"])
    assert await row.get_by_role("cell").nth(1).evaluate("cell => getComputedStyle(cell).textAlign") == "end"
    tasks = answer.get_by_role("listitem").filter(has=chat.page.get_by_role("checkbox"))
    await expect(tasks).to_have_count(3)
    await expect(tasks.first.get_by_role("checkbox")).to_be_checked()
    await expect(tasks.last.get_by_role("checkbox")).not_to_be_checked()
    code = answer.get_by_role("group", name="Code, python")
    await expect(code.locator(".hljs-keyword").first).to_have_text("def")
    link = answer.get_by_role("link", name="the rule of twelfths")
    await expect(link).to_have_attribute("rel", re.compile("noopener"))


@PAGE
async def test_code_answers_and_questions_can_be_copied_and_shown_raw(new_page: NewPage) -> None:
    chat = await new_page(permissions=["clipboard-read", "clipboard-write"])
    await chat.open_imported(showcase("To be copied"))
    answer = chat.answers.last

    await answer.get_by_role("button", name="Copy code").first.click()
    await expect(answer.get_by_text("Copied").first).to_be_visible()
    code = ANSWER.partition("```python\n")[2].partition("\n```")[0]
    async with asyncio.timeout(ANSWER_MS / 1000):
        await chat.page.evaluate(WAIT_FOR_TEXT, code)
    async with chat.page.expect_download() as download:
        await answer.get_by_role("button", name="Download as code.py").click()
    assert (await (await download.value).path()).read_text() == code
    await answer.get_by_role("button", name="Copy answer").click()
    async with asyncio.timeout(ANSWER_MS / 1000):
        await chat.page.evaluate(WAIT_FOR_TEXT, ANSWER)
        formatted = await chat.page.evaluate(WAIT_FOR_FORMATTED)
    assert ">Bay of Fundy</td>" in formatted
    assert r"a_{\text{tide}} \approx" in formatted
    await chat.questions.first.hover()
    await chat.button("Copy question").click()
    async with asyncio.timeout(ANSWER_MS / 1000):
        await chat.page.evaluate(WAIT_FOR_TEXT, QUESTION)

    await chat.toggle_raw(answer)
    await expect(answer.locator("pre.raw")).to_have_text(ANSWER)
    await expect(answer.get_by_role("table")).to_have_count(0)
    await chat.toggle_raw(answer)
    await expect(answer.get_by_role("table").first).to_be_visible()


@PAGE
async def test_long_question_is_folded_until_shown_whole(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    await chat.send("\n".join(f"Line {number}" for number in range(1, 41)))
    await chat.expect_status("incomplete")
    last_line = chat.questions.get_by_text("Line 40")
    folded = await last_line.bounding_box()
    await chat.button("Show all").click()
    whole = await last_line.bounding_box()
    assert folded is not None
    assert whole is not None
    assert folded["height"] < 0.35 * whole["height"]
    await chat.button("Show less").click()
    await chat.send("Short")
    await expect(chat.button("Show all")).to_have_count(1)


@PAGE
async def test_selection_survives_while_answer_continues(chat: ChatPage, engine: ReplayEngine) -> None:
    engine.script = Pieces(ESSAY)
    await chat.open_new_chat(tokens=2_000)
    await chat.send("Write an essay about ships.")
    paragraphs = chat.answers.last.locator(".markdown p")
    await expect(paragraphs.nth(1)).to_be_visible(timeout=ANSWER_MS)
    selected = await paragraphs.first.evaluate(
        "element => { getSelection().selectAllChildren(element); return getSelection().toString(); }"
    )

    text = await chat.text_of_answer()
    await chat.until_writing(characters=len(text) + 60)

    assert len(selected) > 10
    assert await chat.page.evaluate("getSelection().toString()") == selected
    await chat.button("Stop").click()
    await chat.expect_status("cancelled")


async def test_settings_apply_to_next_answer_of_that_chat_only(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    dialog = chat.page.get_by_role("dialog")
    await chat.button("Chat settings").click()
    await expect(dialog).to_contain_text(re.compile(r"\S+ runs on .*\s+Context window: 20,000 tokens"))
    await dialog.get_by_label("System prompt").fill("You speak like a captain.")
    await dialog.get_by_text("Advanced sampling").click()
    await expect(dialog.get_by_label("Repetition penalty")).to_have_attribute("placeholder", "1")
    await dialog.get_by_label("Repetition penalty").fill("1.2")
    await dialog.get_by_label("Temperature").fill("")
    await dialog.get_by_role("button", name="Save", exact=True).click()
    await expect(dialog).to_have_count(0)
    await chat.send("Who are you?")
    await chat.expect_status("incomplete")

    stored = await chat.stored(conversation)
    assert stored["system_prompt"] == "You speak like a captain."
    assert stored["params"].items() >= {"repetition_penalty": 1.2, "max_tokens": 1}.items()
    assert "temperature" not in stored["params"]
    assert stored["messages"][-1]["params"]["repetition_penalty"] == 1.2
    await chat.page.reload()
    await chat.button("Chat settings").click()
    await expect(dialog.get_by_label("System prompt")).to_have_value("You speak like a captain.")
    await expect(dialog.get_by_label("Repetition penalty")).to_have_value("1.2")
    await dialog.get_by_label("Repetition penalty").fill("99")
    await dialog.get_by_role("button", name="Save", exact=True).click()
    await expect(dialog).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await chat.button("New chat").click()
    await chat.button("Chat settings").click()
    await expect(dialog.get_by_label("System prompt")).to_have_value("")


@PAGE
async def test_sending_and_settings_wait_until_chat_is_loaded(chat: ChatPage) -> None:
    conversation = await chat.new_chat(tokens=1)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def later(route: Route) -> None:
        asked.set()
        await answer.wait()
        await route.continue_()

    await chat.page.route(f"**/api/conversations/{conversation}?*", later)
    await chat.page.goto(f"/c/{conversation}")
    await asked.wait()
    await chat.composer.fill("Hello")
    await chat.composer.press("Enter")
    await expect(chat.button("Chat settings")).to_be_disabled()
    await expect(chat.button("Send")).to_be_disabled()
    await expect(chat.composer).to_have_value("Hello")

    answer.set()
    await expect(chat.button("Chat settings")).to_be_enabled()
    await chat.expect_status("incomplete")
    await expect(chat.questions).to_have_text(["Hello"])
    await expect(chat.composer).to_have_value("")
