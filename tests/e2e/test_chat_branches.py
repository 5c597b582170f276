"""Versions: edited questions, regenerated answers, and navigation between them."""

import re

from playwright.async_api import Locator, expect

from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.showcase import long_chat
from tests.e2e.test_chat_accessibility import ALL, violations
from tests.sizes import PAGE


async def test_edited_question_becomes_version_and_old_one_is_kept(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=4)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")

    await chat.questions.first.hover()
    await chat.button("Edit question").click()
    field = chat.page.get_by_label("Edited question")
    await expect(field).to_be_focused()
    await field.fill("Name a bird.")
    await field.press("Control+Enter")
    await expect(chat.questions).to_have_text(["Name a bird."])
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()

    await chat.button("Next version").focus()
    await chat.page.keyboard.press("ArrowLeft")
    await expect(chat.questions).to_have_text(["Name a fish."])
    await expect(chat.page.get_by_role("group", name="Version 1 of 2")).to_be_visible()
    await expect(chat.button("Next version")).to_be_focused()
    fish = chat.page.url
    await chat.page.keyboard.press("ArrowRight")
    await expect(chat.questions).to_have_text(["Name a bird."])

    assert "?at=msg_" in fish
    await chat.page.goto(fish)
    await expect(chat.questions).to_have_text(["Name a fish."])
    first = (await chat.stored(conversation))["messages"][0]
    assert first["content"] == "Name a fish."

    await chat.button("Branches of this chat").click()
    rows = chat.page.get_by_role("treeitem")
    await expect(rows).to_have_count(4)
    await expect(chat.page.get_by_role("treeitem", selected=True)).to_have_count(2)
    tree = chat.page.get_by_role("tree")
    await expect(tree).to_be_focused()
    await expect(tree).to_have_attribute("aria-activedescendant", await active_of(rows.nth(1)))
    await chat.page.keyboard.press("ArrowDown")
    await expect(tree).to_have_attribute("aria-activedescendant", await active_of(rows.nth(2)))
    await chat.page.keyboard.press("Enter")
    await expect(chat.questions).to_have_text(["Name a bird."])
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)
    await chat.button("Branches of this chat").click()
    await rows.get_by_text("Name a fish.").click()
    await expect(chat.questions).to_have_text(["Name a fish."])


async def active_of(row: Locator) -> str:
    """Return the id of a row of the map."""
    return await row.get_attribute("id") or ""


@PAGE
async def test_map_of_many_branches_draws_only_what_is_near(chat: ChatPage) -> None:
    file = long_chat("Many first questions", 2000)
    for question in file["conversations"][0]["messages"][::2]:
        question["parent_id"] = None
    await chat.open_imported(file)
    await chat.button("Branches of this chat").click()
    tree, rows = chat.page.get_by_role("tree"), chat.page.get_by_role("treeitem")
    last = rows.filter(has_text="Message 1999 of the log.")
    await expect(last).to_be_in_viewport()
    await expect(tree).to_be_focused()
    assert await rows.count() <= 100
    await chat.page.keyboard.press("Home")
    await expect(last).to_have_count(0)
    await expect(rows.first).to_be_in_viewport()
    await expect(tree).to_have_attribute("aria-activedescendant", await active_of(rows.first))
    for _ in range(30):
        await chat.page.keyboard.press("ArrowDown")
    row = rows.filter(has_text="Message 30 of the log.")
    await expect(row).to_be_in_viewport()
    assert await active_of(row) == await tree.get_attribute("aria-activedescendant")
    await chat.page.keyboard.press("Tab")
    await expect(tree).not_to_be_focused()
    await row.click()
    await expect(chat.questions).to_have_text(["Message **30** of the log."])


@PAGE
async def test_answer_is_rated_and_reason_is_kept(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=4)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")

    await chat.button("Good answer").click()
    await expect(chat.button("Good answer")).to_have_attribute("aria-pressed", "true")
    await chat.button("Bad answer").click()
    await expect(chat.button("Good answer")).to_have_attribute("aria-pressed", "false")
    field = chat.page.get_by_label("What was wrong?")
    await expect(field).to_be_focused()
    assert await violations(chat, ALL) == []
    await field.fill("That is a bird.")
    await field.press("Control+Enter")
    await expect(chat.answers.last).to_contain_text("Your feedback: That is a bird.")
    await chat.page.reload()
    await expect(chat.button("Bad answer")).to_have_attribute("aria-pressed", "true")
    await expect(chat.answers.last).to_contain_text("Your feedback: That is a bird.")

    async with chat.page.expect_response("**/rating"):
        await chat.button("Bad answer").click()
    await expect(chat.button("Bad answer")).to_have_attribute("aria-pressed", "false")
    await expect(chat.answers.last).not_to_contain_text("Your feedback")
    answer = (await chat.stored(conversation))["messages"][1]
    assert (answer["rating"], answer["rating_note"]) == (None, None)


async def test_truncated_answer_continues_in_place(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=4)
    await chat.send("Name a knot.")
    await chat.expect_status("incomplete")
    before = (await chat.stored(conversation))["messages"][-1]

    await chat.button("Continue").click()
    await chat.until_writing(characters=len(before["content"]) + 1)
    await chat.expect_status("incomplete")

    await expect(chat.answers).to_have_count(1)
    after = (await chat.stored(conversation))["messages"][-1]
    assert after["id"] == before["id"]
    assert after["content"].startswith(before["content"])


@PAGE
async def test_next_message_follows_edited_answer(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=4)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")

    await chat.choose_of_answer("Edit answer")
    field = chat.page.get_by_label("Edited answer")
    await expect(field).to_be_focused()
    await field.fill("A sturgeon, of course.")
    await field.press("Control+Enter")
    await expect(chat.answers.last).to_contain_text("A sturgeon, of course.")
    await expect(chat.answers.last).to_contain_text("Edited")
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.send("And a bird.")
    await expect(chat.answers).to_have_count(2)
    await chat.expect_status("incomplete")

    messages = (await chat.stored(conversation))["messages"]
    assert [message["content"] for message in messages[:3]] == [
        "Name a fish.",
        "A sturgeon, of course.",
        "And a bird.",
    ]


@PAGE
async def test_answer_is_regenerated_with_other_settings(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=2)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")

    await chat.choose_of_answer("Regenerate with…")
    await chat.page.get_by_label("Token limit").fill("5")
    await chat.page.get_by_role("dialog").get_by_role("button", name="Regenerate").click()
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.expect_status("incomplete")

    stored = await chat.stored(conversation)
    assert stored["messages"][-1]["usage"]["completion_tokens"] == 5
    assert stored["params"]["max_tokens"] == 2


@PAGE
async def test_answers_take_system_prompts_of_presets(chat: ChatPage) -> None:
    preset = {"name": "Gulls", "system_prompt": "Speak of gulls.", "params": {"max_tokens": 4}}
    created = await chat.page.request.post("/api/presets", data=preset)
    assert created.ok
    conversation = await chat.open_new_chat(tokens=2)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")

    await chat.choose_of_answer("Regenerate with…")
    dialog = chat.page.get_by_role("dialog")
    await dialog.get_by_label("Preset").select_option("Gulls")
    await expect(dialog.get_by_label("System prompt")).to_have_value("Speak of gulls.")
    await dialog.get_by_role("button", name="Regenerate").click()
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.expect_status("incomplete")
    await expect(chat.answers.last.get_by_title("Speak of gulls.")).to_be_visible()
    stored = await chat.stored(conversation)
    assert stored["messages"][-1]["params"]["system_prompt"] == "Speak of gulls."
    assert stored["messages"][-1]["usage"]["completion_tokens"] == 4
    assert stored["system_prompt"] is None

    await chat.choose_of_answer("Compare answers…")
    dialog = chat.page.get_by_role("dialog", name="Compare answers")
    await dialog.get_by_role("region", name="Answer 2").get_by_label("System prompt").fill("Speak of crabs.")
    await dialog.get_by_role("button", name="Compare").click()
    kept = dialog.get_by_role("region", name="Answer 2").get_by_role("button", name="Keep this one")
    await kept.click(timeout=ANSWER_MS)
    await expect(chat.answers.last.get_by_title("Speak of crabs.")).to_be_visible()
    await chat.send("And a bird.")
    await chat.expect_status("incomplete")
    await expect(chat.answers.last.get_by_title("Speak of")).to_have_count(0)


@PAGE
async def test_compared_answers_stay_and_one_is_kept(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=3)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")

    await chat.choose_of_answer("Compare answers…")
    dialog = chat.page.get_by_role("dialog", name="Compare answers")
    await dialog.get_by_role("region", name="Answer 2").get_by_label("Temperature").fill("1.5")
    await dialog.get_by_role("button", name="Compare").click()
    kept = dialog.get_by_role("region", name="Answer 1").get_by_role("button", name="Keep this one")
    await expect(dialog.get_by_role("button", name="Keep this one")).to_have_count(2, timeout=ANSWER_MS)
    async with chat.page.expect_response(lambda response: response.url.endswith("/head")):
        await kept.click()

    await expect(dialog).to_have_count(0)
    await expect(chat.page.get_by_role("group", name=re.compile("^Version . of 3$"))).to_be_visible()
    shown = (await chat.stored(conversation))["messages"][-1]
    assert len(shown["sibling_ids"]) == 3
    assert shown["params"]["temperature"] == 0


@PAGE
async def test_versions_are_merged_into_one_answer(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=3)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")
    await chat.answers.last.get_by_role("button", name="Regenerate", exact=True).click()
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.expect_status("incomplete")

    await chat.choose_of_answer("Merge versions")

    await expect(chat.page.get_by_role("group", name="Version 3 of 3")).to_be_visible()
    await expect(chat.answers.last).to_contain_text("Merged from 2 answers.")
    await chat.expect_status("incomplete")
    shown = (await chat.stored(conversation))["messages"][-1]
    assert (shown["merged"], len(shown["sibling_ids"])) == (2, 3)
    # The prompt continues the first answer, whose KV is still on the device.
    assert shown["usage"]["kv"]["device"] > 0


@PAGE
async def test_compared_answers_are_merged(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=3)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")
    await chat.choose_of_answer("Compare answers…")
    dialog = chat.page.get_by_role("dialog", name="Compare answers")
    await dialog.get_by_role("button", name="Compare").click()

    await dialog.get_by_role("button", name="Merge into one answer").click(timeout=ANSWER_MS)

    await expect(dialog).to_have_count(0)
    await expect(chat.page.get_by_role("group", name="Version 4 of 4")).to_be_visible()
    await expect(chat.answers.last).to_contain_text("Merged from 2 answers.")
    await chat.expect_status("incomplete")
    assert (await chat.stored(conversation))["messages"][-1]["merged"] == 2


@PAGE
async def test_retry_of_earlier_answer_keeps_later_messages(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=2)
    await chat.send("Name a fish.")
    await chat.expect_status("incomplete")
    await chat.send("And a bird.")
    await expect(chat.answers).to_have_count(2)
    await chat.expect_status("incomplete")

    await chat.answers.first.get_by_role("button", name="Regenerate", exact=True).click()

    await expect(chat.questions).to_have_text(["Name a fish."])
    await expect(chat.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    await chat.expect_status("incomplete")
    await expect(chat.button("Send")).to_be_visible()
    assert len((await chat.stored(conversation))["messages"]) == 2
    await chat.button("Previous version").click()
    await expect(chat.questions).to_have_text(["Name a fish.", "And a bird."])
