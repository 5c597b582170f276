"""Answers: they survive a reload, can be stopped, and are followed by other tabs and later questions."""

import re

from playwright.async_api import expect

from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.sizes import PAGE

# Token limit of answers that a test stops.
ENDLESS = 10_000


async def test_reload_during_answer_continues_stream_to_its_end(chat: ChatPage, engine: ReplayEngine) -> None:
    conversation = await chat.open_new_chat(tokens=30)
    engine.hold()
    await chat.send("Tell me about lighthouses.")
    engine.allow(10)
    before = await chat.until_writing(characters=20)

    await chat.page.reload()

    after = await chat.until_writing(characters=len(before))
    assert after.startswith(before[:20])
    await chat.expect_status("in_progress")
    engine.allow(10)
    await chat.until_writing(characters=len(after) + 20)
    engine.allow(None)
    await chat.expect_status("incomplete")
    message = (await chat.stored(conversation))["messages"][-1]
    assert message["usage"]["completion_tokens"] == 30
    await chat.page.reload()
    await expect(chat.answers.last).to_have_attribute("data-status", "incomplete")
    stored_end = message["content"].split()[-1].strip("*_`#|")
    assert (await chat.text_of_answer()).rstrip().endswith(stored_end)


@PAGE
async def test_second_tab_follows_same_answer(chat: ChatPage, new_page: NewPage) -> None:
    conversation = await chat.open_new_chat(tokens=ENDLESS)
    await chat.send("Tell me everything about the tides.")
    await chat.until_writing()

    other = await new_page()
    await other.page.goto(f"/c/{conversation}")

    await other.until_writing()
    await other.expect_status("in_progress")
    await other.button("Stop").click()
    await chat.expect_status("cancelled")
    await other.expect_status("cancelled")
    assert await other.text_of_answer() == await chat.text_of_answer()


@PAGE
async def test_leaving_chat_keeps_answer_running_and_return_rejoins_it(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=ENDLESS, title="The long one")
    await chat.send("Count the waves.")
    await chat.until_writing()

    await chat.button("New chat").click()
    await expect(chat.page).to_have_url(re.compile(r"/$"))
    await expect(chat.answers).to_have_count(0)
    await chat.page.go_back()

    text = await chat.until_writing()
    await chat.until_writing(characters=len(text) + 1)
    await chat.button("Stop").click()
    await chat.expect_status("cancelled")


async def test_stop_keeps_text_generated_so_far(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=ENDLESS)
    await chat.send("Tell me everything about boats.")
    before = await chat.until_writing(characters=20)

    await chat.button("Stop").click()

    await chat.expect_status("cancelled")
    assert (await chat.text_of_answer()).startswith(before[:20])
    await expect(chat.answers.last).to_contain_text("Stopped.")
    await expect(chat.button("Send")).to_be_visible()
    await expect(chat.composer).to_be_focused()
    message = (await chat.stored(conversation))["messages"][-1]
    assert message["status"] == "cancelled"
    assert message["content"].strip().startswith(before[:10])


@PAGE
async def test_escape_stops_answer_and_chat_continues(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=ENDLESS)
    await chat.send("Tell me everything about ropes.")
    await chat.until_writing()
    await chat.composer.press("Escape")
    await chat.expect_status("cancelled")

    await chat.send("And about knots?")

    await expect(chat.answers).to_have_count(2)
    await chat.until_writing()
    await chat.composer.press("Escape")
    await chat.expect_status("cancelled")
    assert len((await chat.stored(conversation))["messages"]) == 4


async def test_retry_of_finished_answer_adds_version(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=16)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")
    first = (await chat.stored(conversation))["messages"][-1]

    await chat.button("Regenerate").click()

    await chat.expect_status("incomplete")
    await expect(chat.questions).to_have_count(1)
    await expect(chat.answers).to_have_count(1)
    second = (await chat.stored(conversation))["messages"][-1]
    assert second["id"] != first["id"]
    assert second["parent_id"] == first["parent_id"]


@PAGE
async def test_queued_message_waits_for_complete_answer(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=ENDLESS)
    await chat.send("How deep is the sea?")
    await chat.until_writing()

    await chat.composer.fill("And how wide?")
    await chat.composer.press("Enter")
    queued = chat.page.get_by_role("group", name="Queued message")
    await expect(queued).to_contain_text("And how wide?")
    await chat.page.reload()
    await expect(queued).to_contain_text("And how wide?")
    await expect(chat.button("Stop")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await chat.expect_status("cancelled")
    await expect(queued).to_contain_text("Not sent yet")
    await expect(chat.questions).to_have_count(1)

    await queued.get_by_role("button", name="Edit").click()
    await expect(chat.composer).to_have_value("And how wide?")
    await expect(queued).to_have_count(0)
    assert len((await chat.stored(conversation))["messages"]) == 2


@PAGE
async def test_queued_messages_are_sent_one_after_another(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=ENDLESS)
    await chat.send("Who named the seas?")
    await chat.until_writing()
    for text in ("When was that?", "In which language?", "And why?"):
        await chat.composer.fill(text)
        await chat.composer.press("Enter")
    await chat.composer.fill("still typing")
    queued = chat.page.get_by_role("group", name="Queued message")
    await expect(queued).to_have_count(3)

    await queued.nth(1).get_by_role("button", name="Cancel").click()
    await chat.page.reload()
    await expect(queued).to_have_count(2)
    await expect(chat.composer).to_have_value("still typing")
    for number, text in enumerate(("When was that?", "And why?"), 2):
        await queued.first.get_by_role("button", name="Send now").click()
        await expect(chat.questions).to_have_count(number)
        await expect(chat.questions.last).to_contain_text(text)
        await expect(queued).to_have_count(3 - number)
        await chat.until_writing()
    await expect(chat.composer).to_have_value("still typing")
    await chat.button("Stop").click()
    await chat.expect_status("cancelled")
    stored = await chat.stored(conversation)
    asked = [each["content"] for each in stored["messages"] if each["role"] == "user"]
    assert asked == ["Who named the seas?", "When was that?", "And why?"]


@PAGE
async def test_new_chat_begins_with_default_preset(chat: ChatPage) -> None:
    page = chat.page
    await page.goto("/")
    await chat.button("Chat settings").click()
    await page.get_by_label("System prompt").fill("Answer like a sailor.")
    await page.get_by_label("Token limit").fill("3")
    await chat.button("Save as preset…").click()
    await page.get_by_label("Name of the preset").fill("Sailor")
    await page.get_by_label("Use for new chats").check()
    await chat.button("Save preset").click()
    try:
        await expect(page.get_by_role("combobox", name="Preset")).to_contain_text("Sailor (new chats)")
        await page.goto("/")
        await expect(chat.button("System prompt")).to_be_visible()
        await chat.send("Who are you?")
        await chat.expect_status("incomplete")
        stored = await chat.stored(page.url.rpartition("/")[2])
        assert (stored["system_prompt"], stored["params"]["max_tokens"]) == ("Answer like a sailor.", 3)

        await chat.button("Chat settings").click()
        await page.get_by_role("combobox", name="Preset").select_option(label="Sailor (new chats)")
        await chat.button("Delete preset").click()
        await expect(page.get_by_role("combobox", name="Preset")).to_have_count(0)
        await page.get_by_role("dialog").get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("combobox", name="Preset")).to_contain_text("Sailor (new chats)")
    finally:
        for preset in (await (await page.request.get("/api/presets")).json())["data"]:
            await page.request.delete(f"/api/presets/{preset['id']}")


@PAGE
async def test_slash_begins_message_with_saved_prompt(chat: ChatPage) -> None:
    page = chat.page
    await page.goto("/")
    await chat.composer.press_sequentially("/")
    offered, dialog = page.get_by_role("option"), page.get_by_role("dialog", name="Saved prompts")
    await expect(page.get_by_text("Save a text that you use often")).to_be_visible()
    await expect(offered).to_have_text("New prompt")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("button", name="New prompt")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Name of the prompt")).to_be_focused()
    await page.get_by_label("Name of the prompt").fill("Translate")
    await page.get_by_label("Text", exact=True).fill("Translate into {{language}}: tide")
    await dialog.get_by_role("button", name="Save", exact=True).click()
    await expect(dialog.get_by_label("Find a prompt")).to_be_focused()

    await page.goto("/")
    await chat.composer.press_sequentially("/transl")
    await expect(offered.first).to_contain_text("Translate into {{language}}")
    await expect(chat.composer).to_have_value("/transl")
    await page.keyboard.press("Enter")
    await page.keyboard.type("French")
    await expect(chat.composer).to_have_value("Translate into French: tide")
    await expect(offered).to_have_count(0)

    await chat.composer.fill("")
    await chat.composer.press_sequentially("/")
    await offered.get_by_text("Saved prompts").click()
    await dialog.get_by_role("button", name="Edit “Translate”").click()
    await dialog.get_by_role("button", name="Delete prompt").click()
    await expect(dialog).to_contain_text("No saved prompts yet.")
    await dialog.get_by_role("button", name="Undo").click()
    await dialog.get_by_role("button", name="Edit “Translate”").click()
    await dialog.get_by_role("button", name="Delete prompt").click()
    await expect(dialog).to_contain_text("No saved prompts yet.")


@PAGE
async def test_message_may_begin_with_slash(chat: ChatPage) -> None:
    saved = await chat.page.request.post("/api/prompts", data={"name": "Etching", "text": "Etch this:"})
    try:
        await chat.open_new_chat(tokens=1)
        await expect(chat.composer).to_be_focused()
        options = chat.page.get_by_role("option")
        await chat.page.keyboard.type("/etc")
        await expect(options).to_have_text([re.compile("Etching"), "Saved prompts"])
        await chat.page.keyboard.type("/hosts explain")
        await expect(options).to_have_count(0)
        await expect(chat.composer).to_have_value("/etc/hosts explain")
        await chat.page.keyboard.press("Enter")
        await expect(chat.questions).to_have_text("/etc/hosts explain")

        await chat.expect_status("incomplete")
        await chat.page.keyboard.type("/etc")
        await expect(options.first).to_contain_text("Etching")
        await chat.page.keyboard.press("Escape")
        await expect(options).to_have_count(0)
        await chat.page.keyboard.press("Enter")
        await expect(chat.questions.last).to_have_text("/etc")
    finally:
        await chat.page.request.delete(f"/api/prompts/{(await saved.json())['id']}")
