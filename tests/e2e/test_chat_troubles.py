"""Failures: the page reports what happened, offers a next step, and recovers by itself where possible."""

import json
from typing import Any

from playwright.async_api import Route, expect

from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.showcase import one_turn
from tests.sizes import PAGE

MESSAGES = "**/api/conversations/*/messages"


def refusal(message: str, code: str) -> str:
    return json.dumps({"error": {"message": message, "type": "server_error", "param": None, "code": code}})


async def test_refused_message_is_kept_and_can_be_retried(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=8)

    async def refuse(route: Route) -> None:
        body = refusal("Too many requests are waiting", "overloaded")
        await route.fulfill(status=429, content_type="application/json", body=body)

    await chat.page.route(MESSAGES, refuse)
    await chat.send("Please keep me.")

    alert = chat.page.get_by_role("alert").filter(has_text="Too many requests are waiting.")
    await expect(alert).to_contain_text("Wait a moment, then try again.")
    await expect(chat.questions.last).to_contain_text("Please keep me.")
    assert (await chat.stored(conversation))["messages"] == []

    await chat.page.unroute(MESSAGES)
    await alert.get_by_role("button", name="Try again").click()

    await chat.expect_status("incomplete")
    await expect(alert).to_have_count(0)
    assert (await chat.stored(conversation))["messages"][0]["content"] == "Please keep me."


@PAGE
async def test_refused_message_can_be_edited(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=8)
    await chat.page.route(MESSAGES, lambda route: route.abort())
    await chat.send("A typo is heer")
    await expect(chat.page.get_by_role("alert").first).to_contain_text("The server cannot be reached.")

    await chat.button("Edit").click()

    await expect(chat.composer).to_have_value("A typo is heer")
    await expect(chat.questions).to_have_count(0)


@PAGE
async def test_failed_answer_shows_reason_and_can_be_retried(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=8)
    await chat.send("Hello.")
    await chat.expect_status("incomplete")
    failed: set[str] = set()

    async def as_failed(route: Route) -> None:
        # Reports the first answer as failed at every fetch, and leaves the retried answer unchanged.
        response = await route.fetch()
        body: dict[str, Any] = await response.json()
        answer = body["messages"][-1]
        if not failed or answer["id"] in failed:
            failed.add(answer["id"])
            error = {"message": "The device ran out of memory", "type": "server_error", "code": "engine_error"}
            answer |= {"status": "failed", "content": "Half an", "error": error}
        await route.fulfill(response=response, json=body)

    await chat.page.route(f"**/api/conversations/{conversation}?*", as_failed)
    await chat.page.reload()
    alert = chat.page.get_by_role("alert").filter(has_text="The device ran out of memory.")
    await expect(alert).to_be_visible()
    assert await chat.text_of_answer() == "Half an"

    await alert.get_by_role("button", name="Regenerate").click()

    await chat.expect_status("incomplete")
    await expect(alert).to_have_count(0)
    await expect(chat.answers).to_have_count(1)


async def test_broken_stream_is_rejoined_at_its_last_event(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=16)
    cursors: list[str | None] = []

    async def cut(route: Route) -> None:
        # The whole answer is generated before the page receives the response, which is cut after its first events.
        response = await route.fetch(timeout=ANSWER_MS)
        events = (await response.text()).split("\n\n")
        kept = [event for event in events if "event: " in event][:4]
        await route.fulfill(response=response, body="\n\n".join(kept) + "\n\n")

    async def note(route: Route) -> None:
        cursors.append(route.request.headers.get("last-event-id"))
        await route.continue_()

    await chat.page.route(MESSAGES, cut)
    await chat.page.route("**/api/runs/*/events", note)
    await chat.send("Tell me about sails.")

    await chat.expect_status("incomplete")
    assert len(cursors) == 1
    assert cursors[0] is not None
    assert cursors[0].startswith("run_")
    shown = await chat.text_of_answer()
    await chat.page.reload()
    await chat.expect_status("incomplete")
    assert await chat.text_of_answer() == shown


async def test_unreachable_server_is_announced_until_it_returns(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=8)
    await expect(chat.composer).to_be_focused()
    banner = chat.page.get_by_text("Server unreachable, trying again")
    await chat.page.route("**/health", lambda route: route.abort())
    await chat.page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(banner).to_be_visible()

    await chat.send("Are you there?")
    await expect(chat.page.get_by_text("Waiting for the server…")).to_be_visible()
    await chat.page.unroute_all(behavior="wait")

    await expect(banner).to_have_count(0)
    await chat.expect_status("incomplete")


@PAGE
async def test_missing_chat_shows_error(chat: ChatPage) -> None:
    await chat.page.goto("/c/conv_0000")
    alert = chat.page.get_by_role("alert").filter(has_text="Try again")
    await expect(alert).to_contain_text("It may have been deleted in another tab.")
    await chat.button("New chat").click()
    await expect(chat.page.get_by_role("heading", name="Ebb")).to_be_visible()


@PAGE
async def test_answer_is_raw_text_if_its_renderer_is_missing(chat: ChatPage) -> None:
    await chat.page.route("**/assets/Markdown-*.js", lambda route: route.abort())
    await chat.open_imported(one_turn("Unrendered", "Say it.", "This is **bold**."))

    await expect(chat.questions.last).to_have_text("Say it.")
    await expect(chat.answers.last.locator("pre.raw")).to_have_text("This is **bold**.")
