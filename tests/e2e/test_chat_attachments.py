"""Text files are sent inside a message, folded in what the page shows of it."""

import re

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage


async def test_a_text_file_goes_with_the_message_and_anything_else_is_refused(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    chooser = chat.page.get_by_label("Attach text files").first
    await chooser.set_input_files({"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n\x00"})
    await expect(chat.page.get_by_text("photo.png is no text file.")).to_be_visible()
    await chooser.set_input_files({"name": "log.csv", "mimeType": "text/csv", "buffer": b"day,wind\r\nmonday,4\r\n"})
    files = chat.page.get_by_role("list", name="Files of this message")
    await expect(files).to_contain_text(re.compile(r"log\.csv\s*\d+ tokens"))

    await chat.composer.fill("Which day?")
    await chat.composer.press("Enter")
    await chat.expect_status("incomplete")

    await expect(files).to_have_count(0)
    await expect(chat.questions.last.get_by_text("Which day?", exact=True)).to_be_visible()
    await expect(chat.chats.first).to_have_text("Which day? log.csv")
    await expect(chat.questions.get_by_text("monday,4")).to_be_hidden()
    await chat.questions.get_by_text("log.csv").click()
    await expect(chat.questions.get_by_text("monday,4")).to_be_visible()
    question = (await chat.stored(conversation))["messages"][0]["content"]
    assert question == 'Which day?\n\n<file name="log.csv">\nday,wind\nmonday,4\n</file>'
