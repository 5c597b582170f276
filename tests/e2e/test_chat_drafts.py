"""Drafts: unsent text survives leaving the chat, a reload and an unreachable server, and appears in other tabs."""

import re

from playwright.async_api import Response, Route, expect

from tests.e2e.chat_page import CHAT_URL, ChatPage
from tests.e2e.conftest import NewPage
from tests.sizes import PAGE


def is_draft_with(response: Response, text: str) -> bool:
    return response.request.method == "PUT" and text in (response.request.post_data or "")


@PAGE
async def test_draft_appears_in_other_tab_until_sent(chat: ChatPage, new_page: NewPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    async with chat.page.expect_response("**/draft"):
        await expect(chat.composer).to_be_focused()
    async with chat.page.expect_response(lambda response: response.request.method == "PUT"):
        await chat.composer.press_sequentially("half a th")

    other = await new_page()
    async with other.page.expect_request(f"**/{conversation}/warm"):
        await other.page.goto(f"/c/{conversation}")
    await expect(other.composer).to_have_value("half a th")
    await other.composer.press_sequentially("ought")
    await other.composer.press("Enter")
    await other.expect_status("incomplete")

    await chat.page.reload()
    await expect(chat.questions).to_have_text("half a thought")
    await expect(chat.composer).to_have_value("")


async def test_draft_that_server_never_received_survives_reload(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)

    async def refuse(route: Route) -> None:
        if route.request.method == "PUT":
            await route.abort()
        else:
            await route.continue_()

    await chat.page.route("**/draft", refuse)
    await chat.composer.fill("only here")
    await chat.page.reload()
    await expect(chat.composer).to_have_value("only here")


@PAGE
async def test_discarded_question_leaves_no_empty_chat(new_page: NewPage) -> None:
    chat = await new_page()
    named = await chat.open_new_chat(tokens=1, title="Named before")
    await expect(chat.composer).to_be_focused()
    for text in ("half", ""):
        async with chat.page.expect_response(lambda response: response.request.method == "PUT"):
            await chat.composer.fill(text)
    await chat.button("New chat").click()
    await chat.composer.fill(("The ebb is out. " * 6_000).strip())
    await chat.button("Send").click()
    await expect(chat.page).to_have_url(CHAT_URL)
    refused = chat.page.url.rpartition("/")[2]
    await chat.button("Edit").click()
    await expect(chat.composer).not_to_have_value("")

    await chat.composer.fill("")

    await expect(chat.page).not_to_have_url(CHAT_URL)
    await expect(chat.chats.get_by_text(re.compile("^The ebb is out. "))).to_have_count(0)
    await expect(chat.composer).to_be_focused()
    await chat.page.keyboard.type("Shorter")
    await expect(chat.composer).to_have_value("Shorter")
    assert (await chat.page.request.get(f"/api/conversations/{refused}")).status == 404
    assert (await chat.stored(named))["title"] == "Named before"


@PAGE
async def test_refused_question_is_kept_in_its_chat_with_its_files(new_page: NewPage) -> None:
    chat = await new_page()
    await chat.page.goto("/")
    await expect(chat.composer).to_be_focused()
    too_long = ("The tide is out. " * 6_000).strip()
    chooser = chat.page.locator("main input[type=file]")
    large = [(f"tides-{year}.csv", b"high,low\n" * 55_000) for year in (2024, 2025, 2026)]
    for name, content in (("log.txt", b"Sighted a buoy."), *large):
        await chooser.set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
        await expect(chat.page.get_by_text(name, exact=True)).to_be_visible()
    await chat.composer.fill(too_long)
    async with chat.page.expect_response(lambda response: is_draft_with(response, "Sighted a buoy.")):
        await chat.button("Send").click()
    await expect(chat.page).to_have_url(CHAT_URL)
    await expect(chat.chats.first).to_have_text(re.compile("^The tide is out. "))

    other = await new_page()
    await other.page.goto(chat.page.url)
    await chat.page.reload()

    for page in (chat, other):
        await expect(page.composer).to_have_value(too_long)
        for name in ("log.txt", *(name for name, _ in large)):
            await expect(page.page.get_by_text(name, exact=True)).to_be_visible()
    await chat.button("New chat").click()
    await expect(chat.composer).to_have_value("")


@PAGE
async def test_question_in_address_is_filled_in_once(chat: ChatPage) -> None:
    await chat.page.goto("/?q=When%20is%20high%20water%3F")
    await expect(chat.composer).to_have_value("When is high water?")
    await expect(chat.page).to_have_url(re.compile("/$"))
    await chat.composer.fill("And low water?")
    await chat.page.reload()
    await expect(chat.composer).to_have_value("And low water?")
    # A link is added to what was typed before, and is not sent.
    await chat.page.goto("/?q=When%3F")
    await expect(chat.composer).to_have_value("When?\n\nAnd low water?")
    await expect(chat.questions).to_have_count(0)
