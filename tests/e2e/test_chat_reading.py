"""Reading: what an answer is set as, what can be taken from it, and that what stands stays as it is."""

import asyncio
import re

from playwright.async_api import Route, expect

from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import ANSWER, QUESTION, showcase

READ_CLIPBOARD = "navigator.clipboard.readText()"

# Of short paragraphs, and always the same.
POEM = "Write a poem about the sea, in stanzas of two short lines."


async def test_tables_tasks_code_and_formulas_are_set(chat: ChatPage) -> None:
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


async def test_code_answers_and_questions_are_copied_and_shown_raw(new_page: NewPage) -> None:
    chat = await new_page(permissions=["clipboard-read", "clipboard-write"])
    await chat.open_imported(showcase("To be copied"))
    answer = chat.answers.last

    await answer.get_by_role("button", name="Copy code").click()
    await expect(answer.get_by_text("Copied").first).to_be_visible()
    code = ANSWER.partition("```python\n")[2].partition("\n```")[0]
    assert await chat.page.evaluate(READ_CLIPBOARD) == code
    await answer.get_by_role("button", name="Copy answer").click()
    await chat.page.wait_for_function(f"async text => await {READ_CLIPBOARD} === text", arg=ANSWER)
    await chat.questions.first.hover()
    await chat.button("Copy question").click()
    await chat.page.wait_for_function(f"async text => await {READ_CLIPBOARD} === text", arg=QUESTION)

    await answer.get_by_role("button", name="Raw text").click()
    await expect(answer.locator("pre.raw")).to_have_text(ANSWER)
    await expect(answer.get_by_role("table")).to_have_count(0)
    await answer.get_by_role("button", name="Raw text").click()
    await expect(answer.get_by_role("table")).to_be_visible()


async def test_what_is_selected_stays_so_while_the_answer_goes_on(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=2_000)
    await chat.send(POEM)
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


async def test_why_shows_where_the_prompt_of_a_version_goes_its_own_way(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    shore = "All along the shore there are nets, ropes, barrels and boats that wait for the tide to come in again. " * 3
    await chat.send(f"{shore}What are the gulls doing?")
    await chat.expect_status("incomplete")
    await chat.questions.first.hover()
    await chat.button("Edit question").click()
    await chat.page.get_by_label("Edited question").fill(f"{shore}What are the sailors doing?")
    await chat.button("Send").first.click()
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.expect_status("incomplete")

    await chat.page.get_by_test_id("receipt").last.locator("summary").click()

    why = chat.page.get_by_test_id("why")
    await expect(why).to_contain_text(re.compile(r"At token \d+ this prompt goes its own way"))
    await expect(why.locator("div").filter(has=chat.page.get_by_text("here", exact=True)).last).to_contain_text("sail")
    await expect(why.locator("div").filter(has=chat.page.get_by_text("before", exact=True)).last).to_contain_text("g")


async def test_the_list_marks_where_the_memory_of_a_chat_is(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="Marked")
    row = chat.page.get_by_role("navigation", name="Chats").get_by_role("listitem").filter(has_text="Marked")
    await expect(row).to_be_visible()
    await expect(row.get_by_role("img")).to_have_count(0)

    await chat.send("Count the boats in the harbour, one by one, and tell me about each of them. " * 3)
    await chat.expect_status("incomplete")

    await expect(row.get_by_role("img", name="Hot: kept in device memory")).to_be_visible()


async def test_the_settings_of_a_chat_hold_for_its_next_answer_and_for_no_other_chat(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    dialog = chat.page.get_by_role("dialog")
    await chat.button("Settings of this chat").click()
    await expect(dialog).to_contain_text(re.compile(r"\S+ runs on .*\s+It sees 8,192 tokens of a chat"))
    await dialog.get_by_label("System prompt").fill("You speak like a captain.")
    await dialog.get_by_text("More about sampling").click()
    await expect(dialog.get_by_label("Repetition penalty")).to_have_attribute("placeholder", "1")
    await dialog.get_by_label("Repetition penalty").fill("1.2")
    await dialog.get_by_label("Temperature").fill("")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    await chat.send("Who are you?")
    await chat.expect_status("incomplete")

    stored = await chat.stored(conversation)
    assert stored["system_prompt"] == "You speak like a captain."
    assert stored["params"].items() >= {"repetition_penalty": 1.2, "max_tokens": 1}.items()
    assert "temperature" not in stored["params"]
    assert stored["messages"][-1]["params"]["repetition_penalty"] == 1.2
    await chat.page.reload()
    await chat.button("Settings of this chat").click()
    await expect(dialog.get_by_label("System prompt")).to_have_value("You speak like a captain.")
    await expect(dialog.get_by_label("Repetition penalty")).to_have_value("1.2")
    await dialog.get_by_label("Repetition penalty").fill("99")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await chat.button("New chat").click()
    await chat.button("Settings of this chat").click()
    await expect(dialog.get_by_label("System prompt")).to_have_value("")


async def test_what_is_not_known_yet_is_not_changed_and_what_is_sent_waits_for_it(chat: ChatPage) -> None:
    conversation = await chat.new_chat(tokens=1)
    asked, answer = asyncio.Event(), asyncio.Event()

    async def later(route: Route) -> None:
        asked.set()
        await answer.wait()
        await route.continue_()

    await chat.page.route(f"**/api/conversations/{conversation}", later)
    await chat.page.goto(f"/c/{conversation}")
    await asked.wait()
    await chat.composer.fill("Hello")
    await chat.composer.press("Enter")
    await expect(chat.button("Settings of this chat")).to_be_disabled()
    await expect(chat.button("Send")).to_be_disabled()
    await expect(chat.composer).to_have_value("Hello")

    answer.set()
    await expect(chat.button("Settings of this chat")).to_be_enabled()
    await chat.expect_status("incomplete")
    await expect(chat.questions).to_have_text(["Hello"])
    await expect(chat.composer).to_have_value("")
