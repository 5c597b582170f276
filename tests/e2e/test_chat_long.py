"""A long chat: it opens at its end with one small request, and other messages are read where the person goes."""

import itertools
import re
import time
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Page, Request, Response, expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.showcase import long_chat
from tests.sizes import LARGE, PAGE, Size

MESSAGES = 400
TURNS = 10_000
MOST_SECONDS = 1.5
MOST_BYTES = 300_000
ATTEMPTS = 3
"""Openings, of which the fastest counts: the machine may have other work."""
SCROLL_TO_BEGINNING = """async (element, first) => {
    for (let frames = 0; frames < 2000; frames++) {
        element.scrollTop = 0;
        await new Promise(requestAnimationFrame);
        if (element.querySelector("[data-testid=question]")?.textContent.trim() === first) return;
    }
}"""
FEW_BOXES_ARE_EMPTY = """few => document.querySelectorAll("[data-scroller] div:empty").length < few"""


def pages_of(page: Page) -> list[dict[str, list[str]]]:
    """Record the fields of each request for messages that `page` sends from now on."""
    asked: list[dict[str, list[str]]] = []

    def note(request: Request) -> None:
        address = urlsplit(request.url)
        if request.method == "GET" and re.fullmatch(r"/api/conversations/conv_\w+", address.path):
            asked.append(parse_qs(address.query, keep_blank_values=True))

    page.on("request", note)
    return asked


@PAGE
async def test_long_chat_opens_at_its_end_and_is_read_upwards(chat: ChatPage, size: Size) -> None:
    messages = size.pick(small=160, full=MESSAGES)
    asked = pages_of(chat.page)
    await chat.open_imported(long_chat("A tall log", messages))
    await expect(chat.answers.last).to_contain_text(f"Message {messages - 1} of the log.")
    assert asked == [{"limit": ["40"]}]
    await chat.thread.evaluate(SCROLL_TO_BEGINNING, "Message **0** of the log.")
    await expect(chat.questions.first).to_have_text("Message **0** of the log.")
    await expect(chat.button("Earlier messages")).to_have_count(0)
    assert len(asked) == messages / 40
    await chat.button("Jump to the latest message").click()
    await expect(chat.answers.last).to_be_in_viewport()
    # One empty box takes the place of many messages far from the screen.
    await chat.page.wait_for_function(FEW_BOXES_ARE_EMPTY, arg=messages * 3 // 8)


@PAGE
async def test_link_opens_a_message_with_its_surroundings(chat: ChatPage) -> None:
    conversation = await chat.take_in(long_chat("A linked log", MESSAGES))
    message = (await chat.stored(conversation))["messages"][100]
    asked = pages_of(chat.page)
    await chat.page.goto(f"/c/{conversation}?at={message['id']}")
    wanted = chat.page.get_by_text("Message **100** of the log.", exact=True)
    await expect(wanted).to_be_in_viewport()
    # The surroundings, and at most one more page in each direction.
    assert 3 <= len(asked) <= 5
    await chat.thread.hover()
    while not await chat.page.get_by_text("Message 131 of the log.", exact=True).count():
        await chat.page.mouse.wheel(0, 200)
    await expect(chat.page.get_by_text("Message 399 of the log.", exact=True)).to_have_count(0)
    await chat.button("Jump to the latest message").click()
    await expect(chat.page.get_by_text("Message 399 of the log.", exact=True)).to_be_in_viewport()
    await chat.page.reload()
    await expect(wanted).to_be_in_viewport()


@PAGE
async def test_question_in_the_middle_is_edited_and_branches(chat: ChatPage) -> None:
    conversation = await chat.take_in(long_chat("An edited log", MESSAGES))
    await chat.page.request.patch(f"/api/conversations/{conversation}", data={"params": {"max_tokens": 2}})
    message = (await chat.stored(conversation))["messages"][10]
    await chat.page.goto(f"/c/{conversation}?at={message['id']}")
    question = chat.questions.filter(has_text="Message **10** of the log.")
    await question.hover()
    await chat.page.get_by_role("article").filter(has=question).get_by_role("button", name="Edit question").click()
    field = chat.page.get_by_label("Edited question")
    await field.fill("Another entry")
    await field.press("Enter")
    await chat.expect_status("incomplete")
    await expect(chat.questions.last).to_have_text("Another entry")
    stored = (await chat.stored(conversation))["messages"]
    assert [len(stored), stored[10]["content"]] == [12, "Another entry"]
    # The other branch has its end far away.
    await chat.page.get_by_role("button", name="Previous version").click()
    await expect(question).to_be_in_viewport()
    await chat.button("Jump to the latest message").click()
    await expect(chat.page.get_by_text("Message 399 of the log.", exact=True)).to_be_in_viewport()


MARKED = """() => {
    const [range] = CSS.highlights.get("found-current") ?? [];
    const box = range?.getBoundingClientRect();
    const seen = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return seen?.closest("[data-message]") && range.startContainer.parentElement.closest("[data-message]")?.innerText;
}"""
"""The text of the message with the marked place, if that is on the screen and nothing covers it."""


@PAGE
async def test_early_text_is_found_marked_and_edited(chat: ChatPage) -> None:
    file = long_chat("A searched log", MESSAGES)
    messages = file["conversations"][0]["messages"]
    messages[20]["content"] = "Where did the **alba**tross go?"
    messages[21] |= {"reasoning": "The albatross is a bird.", "content": "Home."}
    messages[350]["content"] = '<file name="birds.txt">\nOne Albatross\n</file>'
    conversation = await chat.open_imported(file)
    await chat.page.request.patch(f"/api/conversations/{conversation}", data={"params": {"max_tokens": 2}})
    await expect(chat.answers.last).to_contain_text(f"Message {MESSAGES - 1} of the log.")

    await chat.page.keyboard.press("Control+f")
    bar = chat.page.get_by_role("search", name="Find in this chat")
    field = bar.get_by_role("textbox")
    await expect(field).to_be_focused()
    await field.fill("ÁLBATROSS")
    await expect(bar.get_by_role("status")).to_have_text("2 of 2")
    await chat.page.wait_for_function(f"text => ({MARKED})()?.includes?.(text)", arg="One Albatross")
    await field.press("Enter")
    await expect(bar.get_by_role("status")).to_have_text("1 of 2")
    await chat.page.wait_for_function(f"text => ({MARKED})()?.includes?.(text)", arg="The albatross is a bird.")
    await bar.get_by_role("button", name="Next match").click()
    await expect(bar.get_by_role("status")).to_have_text("2 of 2")

    await field.fill("nothing of that")
    await expect(bar.get_by_role("status")).to_have_text("Not found")
    await field.fill("Message 31 of")
    await chat.page.wait_for_function(f"text => ({MARKED})()?.includes?.(text)", arg="Message 31 of the log.")
    await field.press("Escape")
    await expect(bar).to_have_count(0)
    await expect(chat.composer).to_be_focused()
    assert not await chat.page.evaluate("CSS.highlights.has('found')")

    # A chat that fits the window cannot be scrolled out from under anything.
    await chat.open_imported(long_chat("A short log", 2))
    await expect(chat.answers.last).to_contain_text("Message 1 of the log.")
    await chat.page.keyboard.press("Control+f")
    await field.fill("of the log")
    await expect(bar.get_by_role("status")).to_have_text("2 of 2")
    await field.press("Enter")
    await chat.page.wait_for_function(f"text => ({MARKED})()?.includes?.(text)", arg="Message **0** of the log.")


@PAGE
async def test_search_hit_in_other_branch_is_shown_and_marked(chat: ChatPage) -> None:
    file = long_chat("A log with two ends", MESSAGES)
    messages = file["conversations"][0]["messages"]
    former = [{**each, "id": f"{each['id']}_former"} for each in messages[60:340]]
    former[0]["parent_id"] = messages[59]["id"]
    for before, after in itertools.pairwise(former):
        after["parent_id"] = before["id"]
    filler = "\n\n".join(f"Paragraph {number} of a long entry." for number in range(60))
    former[131]["content"] = f"{filler}\n\nThe **quartermaster** sighted land at dawn.\n\n{filler}"
    messages[20]["content"] = "Who is the quartermaster?"
    file["conversations"][0]["messages"] = [*messages, *former]
    conversation = await chat.open_imported(file)
    await expect(chat.answers.last).to_contain_text(f"Message {MESSAGES - 1} of the log.")

    await chat.page.get_by_label("Search chats").fill("quartermaster dawn")
    found = chat.page.get_by_role("navigation", name="Found").get_by_role("link")
    await expect(found).to_have_count(1)
    for _ in range(2):
        await found.click()
        await chat.page.wait_for_function(f"text => ({MARKED})()?.includes?.(text)", arg="sighted land at dawn")
        assert await chat.page.evaluate("[...CSS.highlights.get('found')].join(' ')") == "quartermaster dawn"
        await chat.button("Jump to the latest message").click()
        await expect(chat.page.get_by_text("Message 339 of the log.", exact=True)).to_be_in_viewport()
    assert len((await chat.stored(conversation))["messages"]) == 340

    # A message that both branches share is shown without leaving the branch.
    await chat.page.get_by_label("Search chats").fill("quartermaster who")
    await expect(found).to_contain_text(["Who is the quartermaster?"])
    await found.click()
    await chat.page.wait_for_function(f"text => ({MARKED})()?.includes?.(text)", arg="Who is the quartermaster?")
    assert len((await chat.stored(conversation))["messages"]) == 340
    await chat.page.keyboard.press("Control+f")
    await expect(chat.page.get_by_role("search", name="Find in this chat")).to_be_visible()
    await chat.page.keyboard.press("Escape")
    assert not await chat.page.evaluate("CSS.highlights.has('found')")


@PAGE
@LARGE
async def test_chat_of_10_000_turns_opens_as_fast_as_a_short_one(chat: ChatPage) -> None:
    conversation = await chat.take_in(long_chat("A log without an end", 2 * TURNS))
    received: list[Response] = []
    chat.page.on("response", lambda response: received.append(response))
    last = chat.page.get_by_text(f"Message {2 * TURNS - 1} of the log.", exact=True)
    seconds = list[float]()
    for _ in range(ATTEMPTS):
        await chat.page.goto("about:blank")
        received.clear()
        start = time.monotonic()
        await chat.page.goto(f"/c/{conversation}", wait_until="commit")
        await expect(last).to_be_in_viewport()
        seconds.append(time.monotonic() - start)
    answers = [each for each in received if urlsplit(each.url).path == f"/api/conversations/{conversation}"]
    sizes = [len(await each.body()) for each in answers]
    print(f"opened in {min(seconds):.2f} s with {sum(sizes)} bytes of messages")
    assert min(seconds) <= MOST_SECONDS
    assert len(sizes) == 1
    assert sum(sizes) <= MOST_BYTES
