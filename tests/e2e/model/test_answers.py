"""Answers of a model: they stream, come with a receipt, are seen on the live page, and continue after a kill."""

import asyncio
import re

from playwright.async_api import expect

from tests.e2e.chat_page import ANSWER_MS, CHAT_URL, ChatPage
from tests.e2e.server_process import ServerProcess
from tests.e2e.test_chat_keeps import UNREACHABLE, expect_whole
from tests.sizes import PAGE

# Token limit of answers that a test stops.
ENDLESS = 7_000

# Tokens of an answer that no CPU finishes before its server is killed, at its first words.
MANY = 250

HARBOUR = "Describe a harbour in the morning, with its boats, its gulls and the people who work there. " * 4


async def test_first_message_streams_answer_and_gets_receipt(chat: ChatPage) -> None:
    await chat.page.goto("/")
    await expect(chat.page.get_by_text(re.compile(r"\S+ runs on "))).to_be_visible()
    await expect(chat.composer).to_be_focused()
    await chat.button("Chat settings").click()
    await expect(chat.page.get_by_label("Temperature")).to_have_attribute("placeholder", "0.2")
    await chat.page.get_by_label("Top k").fill("40")
    await chat.page.get_by_label("Token limit").fill("200")
    await chat.button("Save").click()
    await expect(chat.page.get_by_role("dialog")).to_have_count(0)

    await chat.send("Tell me a long story about the sea.")

    await expect(chat.composer).to_have_value("")
    first = await chat.until_writing()
    await chat.expect_status("in_progress")
    assert len(await chat.until_writing(characters=len(first) + 1)) > len(first)
    await expect(chat.page).to_have_url(CHAT_URL)
    await chat.expect_status("incomplete")
    await expect(chat.answers.last).to_contain_text("Stopped at the token limit.")
    receipt = chat.page.get_by_test_id("receipt")
    await expect(receipt).to_have_text(re.compile(r"\d+( tokens computed|% cached) · \d+\.\d\d s"))
    await expect(chat.chats.first).to_have_text("Tell me a long story about the sea.")
    await expect(chat.page).to_have_title(re.compile(r"Tell me a long story about the sea\. · Ebb$"))
    conversation = chat.page.url.rpartition("/")[2]
    # The model renames a chat in the same way when it is idle.
    await chat.page.request.patch(f"/api/conversations/{conversation}", data={"title": "A tale of the sea"})
    await expect(chat.chats.first).to_have_text("A tale of the sea")
    stored = await chat.stored(conversation)
    assert stored["params"] == {"top_k": 40, "max_tokens": 200}


async def test_receipt_of_second_turn_shows_reused_tokens(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=8)
    await chat.send(HARBOUR)
    await chat.expect_status("incomplete")
    await chat.send("And in the evening?")
    await expect(chat.page.get_by_test_id("receipt")).to_have_count(2, timeout=ANSWER_MS)

    last = (await chat.stored(conversation))["messages"][-1]
    kv = last["usage"]["kv"]
    receipt = chat.page.get_by_test_id("receipt").last
    assert kv["device"] > 0
    await expect(receipt).to_have_text(re.compile(r"\d+% cached · \d+\.\d\d s"))
    await receipt.get_by_role("button").click()
    await expect(receipt).to_contain_text(f"{kv['device']} of {last['usage']['prompt_tokens']} tokens from the device")
    await expect(receipt).to_contain_text(re.compile(r"first token .*tokens/s"))
    await expect(receipt.get_by_role("definition").get_by_text(str(kv["computed"]), exact=True)).to_be_visible()
    await expect(receipt.get_by_text("Time to first token")).to_be_visible()
    await expect(receipt).not_to_contain_text("Redis", use_inner_text=True)
    await expect(receipt.get_by_test_id("why")).to_contain_text(
        re.compile("Why wasn't more reused.*had not been computed before")
    )
    await expect(chat.page.get_by_text(f"{last['usage']['total_tokens']} of 8,192 tokens")).to_be_visible()


async def test_live_page_shows_running_answer_and_leads_back_to_it(chat: ChatPage) -> None:
    page = chat.page
    await chat.open_new_chat(tokens=ENDLESS)
    await chat.send("How deep is the sea, and how wide?")
    await chat.until_writing()

    await page.keyboard.press("Control+Shift+L")
    await expect(page).to_have_url(re.compile("/live$"))
    generated = page.get_by_role("img", name="Generated")
    await expect(generated).to_have_accessible_name(re.compile(r"Generated [1-9]"), timeout=ANSWER_MS)
    for tier in ("Device memory", "CPU memory", "Redis"):
        await expect(page.get_by_role("region", name=tier)).to_contain_text(re.compile(r"\d MiB of \d+ MiB"))
    drawn = "element => element.querySelector('canvas').toDataURL()"
    before = await generated.evaluate(drawn)
    await page.wait_for_function("([e, before]) => e.querySelector('canvas').toDataURL() !== before",
                                 arg=[await generated.element_handle(), before])  # fmt: skip
    await page.get_by_text("The charts as a table").click()
    await expect(page.get_by_role("row", name="Requests: Running").get_by_role("cell").last).to_have_text("1")

    await page.go_back()
    await chat.expect_status("in_progress")
    await page.keyboard.press("Escape")
    await chat.expect_status("cancelled")


@PAGE
async def test_receipt_shows_where_prompt_of_version_diverges(chat: ChatPage) -> None:
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

    await chat.page.get_by_test_id("receipt").last.get_by_role("button").click()

    why = chat.page.get_by_test_id("why")
    await why.get_by_text("Advanced").click()
    await expect(why).to_contain_text(re.compile(r"At token \d+ this prompt diverges"))
    await expect(why.locator("div").filter(has=chat.page.get_by_text("here", exact=True)).last).to_contain_text("sail")
    await expect(why.locator("div").filter(has=chat.page.get_by_text("before", exact=True)).last).to_contain_text("g")


async def test_chat_list_marks_tier_that_holds_kv_of_chat(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1, title="Marked")
    row = (
        chat.page.get_by_role("navigation", name="Chats", exact=True).get_by_role("listitem").filter(has_text="Marked")
    )
    await expect(row).to_be_visible()
    await expect(row.get_by_role("img")).to_have_count(0)

    await chat.send("Count the boats in the harbour, one by one, and tell me about each of them. " * 3)
    await chat.expect_status("incomplete")

    await expect(row.get_by_role("img", name="Hot: kept in device memory")).to_be_visible()


@PAGE
async def test_answer_continues_in_its_bubble_after_server_kill(chat: ChatPage, server_process: ServerProcess) -> None:
    conversation = await chat.open_new_chat(tokens=MANY)
    await chat.send("Tell me about harbours.")
    await chat.until_writing(characters=20)
    bubble = await chat.answers.last.element_handle()

    server_process.kill()
    await expect(chat.page.get_by_text(UNREACHABLE)).to_be_visible()
    before = await chat.text_of_answer()
    await asyncio.to_thread(server_process.start)

    await expect_whole(chat, conversation, before)
    assert bubble is not None
    assert await bubble.get_attribute("data-status") == "incomplete"
