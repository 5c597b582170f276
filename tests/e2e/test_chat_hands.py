"""Keyboard, touch, small screens and scrolling."""

import re

from playwright.async_api import FilePayload, expect

from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import long_chat
from tests.sizes import PAGE

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
SCROLL_UP = """async (element, messages) => {
    const shown = new Set();
    let jump = 0;
    for (let frames = 0; frames < 2000 && (shown.size < messages || element.scrollTop > 0); frames++) {
        const articles = [...document.querySelectorAll("article")];
        for (const { dataset } of articles) shown.add(dataset.message);
        const seen = articles.find(each => each.getBoundingClientRect().bottom > innerHeight / 2);
        const before = seen.getBoundingClientRect().top;
        const by = Math.min(150, Math.floor(element.scrollTop));
        element.scrollTop -= by;
        await new Promise(requestAnimationFrame);
        jump = Math.max(jump, Math.abs(seen.getBoundingClientRect().top - before - by));
    }
    return [shown.size, jump];
}"""
"""Scrolls to the beginning of a chat. Returns the number of messages that were mounted, and the px that
a message in view moved too far in a frame."""


async def overflows(chat: ChatPage) -> bool:
    return bool(await chat.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


async def test_phone_shows_chat_list_as_drawer_without_overflow(new_page: NewPage) -> None:
    chat = await new_page(**PHONE)
    await chat.new_chat(tokens=8, title="Another chat on the phone")
    await chat.open_new_chat(tokens=8, title="A chat on the phone")
    assert not await overflows(chat)
    await expect(chat.chats).to_have_count(0)

    await chat.composer.fill("x" * 300)
    await chat.button("Send").tap()
    await chat.expect_status("incomplete")
    await expect(chat.page.get_by_test_id("receipt")).to_be_visible()
    assert not await overflows(chat)

    await chat.button("Open the list of chats").tap()
    await expect(chat.chats.get_by_text("A chat on the phone", exact=True)).to_be_visible()
    assert not await overflows(chat)
    await chat.page.keyboard.press("Escape")
    await expect(chat.chats).to_have_count(0)
    await expect(chat.button("Open the list of chats")).to_be_focused()


@PAGE
async def test_phone_on_its_side_gives_the_chat_all_its_width(new_page: NewPage) -> None:
    chat = await new_page(viewport={"width": 740, "height": 360}, has_touch=True, is_mobile=True)
    await chat.open_new_chat(tokens=1, title="A chat on the side")
    await expect(chat.chats).to_have_count(0)
    assert await chat.thread.evaluate("each => each.clientWidth") > 700
    await chat.button("Open the list of chats").tap()
    await expect(chat.chats.get_by_text("A chat on the side", exact=True)).to_be_visible()


@PAGE
async def test_full_window_is_a_number_on_a_phone(new_page: NewPage) -> None:
    chat = await new_page(**PHONE)
    await chat.new_chat(tokens=1, title="Another chat on the phone")
    await chat.open_new_chat(tokens=1, title="A chat with a title that takes all the room that there is")
    meter = chat.page.get_by_title("How much of the context window").locator(".short")
    log: FilePayload = {"name": "log.txt", "mimeType": "text/plain", "buffer": b"The tide is out.\n" * 12_000}
    await chat.page.get_by_label("Attach files").first.set_input_files(log)
    await expect(meter).to_have_text(re.compile(r"\d%$"))
    box = await meter.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 360
    assert not await overflows(chat)

    await chat.button("Open the list of chats").tap()
    await chat.chats.get_by_text("Another chat on the phone", exact=True).tap()
    await expect(chat.page.get_by_role("heading", name="Another chat on the phone")).to_be_visible()
    await expect(chat.chats).to_have_count(0)


@PAGE
async def test_many_files_on_a_phone_leave_room_for_the_chat(new_page: NewPage) -> None:
    chat = await new_page(**PHONE)
    await chat.open_new_chat(tokens=8)
    await chat.composer.fill("Name a fish.")
    await chat.button("Send").tap()
    await chat.expect_status("incomplete")
    files: list[FilePayload] = [
        {"name": f"a log of the tides, page {number}.txt", "mimeType": "text/plain", "buffer": b"High water at six."}
        for number in range(1, 12)
    ]
    await chat.page.get_by_label("Attach files").first.set_input_files(files)
    await expect(chat.page.get_by_role("list", name="Files of this message").get_by_role("listitem")).to_have_count(11)

    await expect(chat.answers.last).to_be_in_viewport()
    await expect(chat.button("Send")).to_be_in_viewport(ratio=1)
    removal = chat.button("Remove a log of the tides, page 11.txt")
    await expect(removal).not_to_be_in_viewport()
    await chat.composer.focus()
    await chat.page.keyboard.press("Shift+Tab")
    await expect(removal).to_be_focused()
    await expect(removal).to_be_in_viewport(ratio=1)


async def test_enter_sends_except_with_shift_or_during_composition(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    await chat.composer.fill("one")
    await chat.composer.press("Shift+Enter")
    await chat.composer.press_sequentially("two")
    await expect(chat.composer).to_have_value("one\ntwo")

    for composing in ({"isComposing": True}, {"keyCode": 229}):
        await chat.composer.dispatch_event("keydown", {"key": "Enter", "bubbles": True, **composing})
    await expect(chat.composer).to_have_value("one\ntwo")
    await expect(chat.questions).to_have_count(0)

    await chat.composer.press("Enter")
    await expect(chat.questions.last).to_have_text("one\ntwo")


async def test_page_follows_answer_until_user_scrolls_up(new_page: NewPage) -> None:
    chat = await new_page(viewport={"width": 800, "height": 360})
    await chat.open_new_chat(tokens=2_000)
    await chat.send("Tell me everything about the sea.\n" * 12)
    await chat.until_writing(characters=40)
    await chat.until_at_end()

    await chat.thread.hover()
    await chat.page.mouse.wheel(0, -300)
    jump = chat.button("Jump to the latest message")
    await expect(jump).to_be_visible()
    # The wheel scrolls smoothly, so wait until the position is stable.
    resting = """async element => {
        for (let last = NaN; last !== element.scrollTop; ) {
            last = element.scrollTop;
            await new Promise(done => setTimeout(done, 150));
        }
        return element.scrollTop;
    }"""
    place = await chat.thread.evaluate(resting)
    text = await chat.text_of_answer()
    await chat.until_writing(characters=len(text) + 60)
    assert await chat.thread.evaluate("element => element.scrollTop") == place

    await jump.click()
    await expect(jump).to_have_count(0)
    await chat.until_at_end()
    await chat.button("Stop").click()
    await chat.expect_status("cancelled")


@PAGE
async def test_page_stands_still_under_pressed_button(new_page: NewPage) -> None:
    chat = await new_page(viewport={"width": 800, "height": 360})
    await chat.open_new_chat(tokens=2_000)
    await chat.send("Tell me everything about the sea.\n" * 12)
    await chat.until_writing(characters=400)
    question = chat.questions.first

    box = await chat.thread.bounding_box()
    assert box is not None
    # `hover` would scroll to the answer. If that is upwards, the page does not follow the answer any more.
    await chat.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    await chat.page.mouse.down()
    place = await chat.thread.evaluate("element => element.scrollTop")
    await chat.until_writing(characters=len(await chat.text_of_answer()) + 400)
    assert await chat.thread.evaluate("element => element.scrollTop") == place

    await chat.page.mouse.up()
    await chat.until_at_end()
    await expect(question).not_to_be_in_viewport()
    await chat.button("Stop").click()
    await chat.expect_status("cancelled")


async def test_long_chat_opens_at_end_and_renders_only_nearby_messages(chat: ChatPage) -> None:
    conversation = await chat.open_imported(long_chat("A long log", 300))
    await expect(chat.answers.last).to_contain_text("Message 299 of the log.")
    count = await chat.page.get_by_role("article").count()
    assert 10 < count < 100

    # Messages in view must stay in view when earlier ones are rendered above them.
    await chat.thread.evaluate("element => element.scrollTo(0, 0)")
    more = "count => document.querySelectorAll('article').length > count"
    await chat.page.wait_for_function(more, arg=count)
    assert await chat.thread.evaluate("element => element.scrollTop") > 0

    tree = await (await chat.page.request.get(f"/api/conversations/{conversation}/tree")).json()
    await chat.page.goto(f"/c/{conversation}?at={tree['messages'][0]['id']}")
    await expect(chat.questions.first).to_be_in_viewport()
    await expect(chat.questions.first).to_have_text("Message **0** of the log.")

    # Messages far away are not drawn, and what was written in one that was being edited is there again with it.
    assert await chat.page.get_by_role("article").count() < 100
    await chat.questions.first.hover()
    await chat.page.get_by_role("button", name="Edit question").first.click()
    await expect(chat.page.get_by_label("Edited question")).to_be_focused()
    await chat.page.keyboard.type("What is kept? ")
    await chat.button("Jump to the latest message").click()
    await expect(chat.answers.last).to_contain_text("Message 299 of the log.")
    await expect(chat.answers.last).to_be_in_viewport()
    await expect(chat.page.get_by_label("Edited question")).to_have_count(0)
    branch = f"/c/{conversation}?at={tree['messages'][2]['id']}"
    await chat.page.evaluate(
        "path => { history.pushState(null, '', path); dispatchEvent(new Event('popstate')); }", branch
    )
    await expect(chat.page.get_by_label("Edited question")).to_have_value(re.compile("What is kept"))


@PAGE
async def test_messages_in_view_move_only_as_far_as_they_are_scrolled(chat: ChatPage) -> None:
    await chat.open_imported(long_chat("A steady log", 120))
    await expect(chat.answers.last).to_contain_text("Message 119 of the log.")
    # Not every browser keeps content in place by itself.
    await chat.thread.evaluate("element => (element.style.overflowAnchor = 'none')")

    shown, jump = await chat.thread.evaluate(SCROLL_UP, 120)

    assert shown == 120
    assert jump <= 1


async def test_whole_chat_works_without_mouse(chat: ChatPage, engine: ReplayEngine) -> None:
    engine.hold()
    engine.allow(3)
    await chat.page.goto("/")
    await expect(chat.composer).to_be_focused()
    await chat.page.keyboard.type("Give me a packing list for a weekend of sailing")
    await chat.page.keyboard.press("Enter")
    await chat.until_writing()
    await expect(chat.composer).to_be_focused()
    await chat.page.keyboard.press("Escape")
    await chat.expect_status("cancelled")
    await expect(chat.page.get_by_text("Answer stopped", exact=True)).to_have_count(1)


@PAGE
async def test_page_is_dark_when_system_is_dark(new_page: NewPage) -> None:
    luminance = """() => {
        const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
        const context = canvas.getContext("2d");
        context.fillStyle = getComputedStyle(document.body).backgroundColor;
        context.fillRect(0, 0, 1, 1);
        return context.getImageData(0, 0, 1, 1).data[1];
    }"""
    light = await new_page(color_scheme="light")
    dark = await new_page(color_scheme="dark")
    await light.page.goto("/")
    await dark.page.goto("/")
    assert await light.page.evaluate(luminance) > 240
    assert await dark.page.evaluate(luminance) < 40


@PAGE
async def test_actions_of_an_answer_fit_in_a_row_on_a_phone(new_page: NewPage) -> None:
    chat = await new_page(**PHONE, locale="de")
    conversation = await chat.new_chat(tokens=8, title="Enge")
    await chat.page.goto(f"/c/{conversation}")
    await chat.page.get_by_label("Nachricht", exact=True).fill("Passt das?")
    await chat.button("Senden").click()
    actions = chat.answers.last.locator(".actions button")
    await expect(actions.and_(chat.button("Neu generieren"))).to_be_visible()
    tops = await actions.evaluate_all("all => all.map(each => Math.round(each.getBoundingClientRect().top))")
    assert len(tops) >= 5
    assert max(tops) - min(tops) <= 4
