"""Attachments: the text of files and PDFs is sent inside a message, and the page shows it folded."""

import re
from pathlib import Path
from typing import cast

from playwright.async_api import FilePayload, Page, expect

from tests.document_files import docx, docx_paragraph, epub, pptx_file, xlsx
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.file_drag import FileDrag
from tests.e2e.pdf_files import chinese, latin, pdf_of
from tests.e2e.test_chat_accessibility import ALL, violations
from tests.sizes import PAGE


async def test_text_file_is_sent_with_message_and_image_is_refused(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    chooser = chat.page.get_by_label("Attach files").first
    pictures: list[FilePayload] = [
        {"name": name, "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n\x00"} for name in ("a.png", "photo.png")
    ]
    await chooser.set_input_files(pictures)
    await expect(chat.page.get_by_text("a.png is not a text file, PDF, docx")).to_be_visible()
    await expect(chat.page.get_by_text("photo.png is not a text file, PDF, docx")).to_be_visible()
    await chooser.set_input_files({"name": "log.csv", "mimeType": "text/csv", "buffer": b"day,wind\r\nmonday,4\r\n"})
    files = chat.page.get_by_role("list", name="Files of this message")
    await expect(files).to_contain_text(re.compile(r"log\.csv\s*\d+ tokens"))

    await chat.composer.fill("Which day?")
    await chat.composer.press("Enter")
    await chat.expect_status("incomplete")

    await expect(files).to_have_count(0)
    await expect(chat.questions.last.get_by_text("Which day?", exact=True)).to_be_visible()
    await expect(chat.chats.first).to_have_text("Which day?")
    await expect(chat.questions.get_by_text("monday,4")).to_be_hidden()
    await chat.questions.get_by_text("log.csv").click()
    await expect(chat.questions.get_by_text("monday,4")).to_be_visible()
    question = (await chat.stored(conversation))["messages"][0]["content"]
    assert question == 'Which day?\n\n<file name="log.csv">\nday,wind\nmonday,4\n</file>'


@PAGE
async def test_kept_file_is_attached_in_another_chat(chat: ChatPage) -> None:
    page = chat.page
    await chat.open_new_chat(tokens=1)
    chooser = page.get_by_label("Attach files").first
    await chooser.set_input_files({"name": "tides.txt", "mimeType": "text/plain", "buffer": b"High water at six."})
    await page.get_by_role("button", name="Keep tides.txt in your files").click()
    await expect(page.get_by_role("img", name="tides.txt is in your files")).to_be_visible()
    await page.get_by_role("button", name="Remove tides.txt").click()

    conversation = await chat.open_new_chat(tokens=1)
    await page.get_by_role("button", name="Your files").click()
    dialog = page.get_by_role("dialog", name="Your files")
    await expect(dialog.get_by_label("Find a file")).to_be_focused()
    assert await violations(chat, ALL) == []
    await dialog.get_by_role("button", name=re.compile("^tides.txt")).click()
    await expect(dialog).to_have_count(0)
    await chat.send("When?")
    await chat.expect_status("incomplete")
    question = (await chat.stored(conversation))["messages"][0]["content"]
    assert question == 'When?\n\n<file name="tides.txt">\nHigh water at six.\n</file>'

    await page.get_by_role("button", name="Your files").click()
    await dialog.get_by_role("button", name="Delete tides.txt").click()
    await page.get_by_role("dialog", name="Delete tides.txt").get_by_role("button", name="Delete").click()
    await expect(dialog).to_contain_text("No files found.")


@PAGE
async def test_files_stay_with_their_chat_and_survive_reload(chat: ChatPage) -> None:
    other = await chat.new_chat(tokens=1, title="Another chat")
    conversation = await chat.open_new_chat(tokens=1, title="Chat with a file")
    chooser = chat.page.get_by_label("Attach files").first
    await chooser.set_input_files({"name": "tides.txt", "mimeType": "text/plain", "buffer": b"High water at six."})
    files = chat.page.get_by_role("list", name="Files of this message")
    await expect(files).to_contain_text("tides.txt")

    await chat.chats.get_by_text("Another chat", exact=True).click()
    await expect(chat.page).to_have_url(re.compile(other))
    await expect(files).to_have_count(0)
    await chat.chats.get_by_text("Chat with a file", exact=True).click()
    await expect(files).to_contain_text("tides.txt")
    await chat.page.reload()
    await expect(files).to_contain_text("tides.txt")

    await chat.page.route(f"**/{conversation}/messages", lambda route: route.fulfill(status=503, body="{}"))
    await chat.composer.fill("When?")
    await chat.composer.press("Enter")
    await chat.button("Edit").last.click()
    await expect(chat.composer).to_have_value("When?")
    await expect(files).to_contain_text("tides.txt")


@PAGE
async def test_too_long_message_is_announced_with_ways_out(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    await chat.send("Hello.")
    await chat.expect_status("incomplete")
    await chat.composer.fill("When?")
    chooser = chat.page.get_by_label("Attach files").first
    log = {"name": "log.txt", "mimeType": "text/plain", "buffer": b"The tide is out.\n" * 12_000}
    await chooser.set_input_files(cast(FilePayload, log))
    warning = chat.page.get_by_role("group", name="The message is too long")
    await expect(warning.get_by_role("status")).to_contain_text("Shorten it")

    # A new chat would not help, since the message is too long by itself.
    await expect(warning.get_by_role("button", name="Ask in a new chat")).to_have_count(0)
    await warning.get_by_role("button", name="Remove log.txt").click()
    await expect(warning).to_have_count(0)
    await expect(chat.page.get_by_title("How much of the context window")).to_contain_text(re.compile(r"^\s*\d+ of"))


REFUSED = {
    "scan.pdf": (pdf_of(b""), "scan.pdf contains no text"),
    "locked.pdf": (pdf_of(latin("Secret"), locked=True), "locked.pdf is locked with a password"),
    "broken.pdf": (b"%PDF-1.7 and nothing", "broken.pdf is damaged"),
}


TIDES = pdf_of(latin("High water at six."), chinese("潮汐"))


def pdf(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/pdf", "buffer": content}


@PAGE
async def test_text_of_pdf_is_sent_with_message(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    chooser = chat.page.get_by_label("Attach files").first
    for name, (content, why) in REFUSED.items():
        await chooser.set_input_files(pdf(name, content))
        await expect(chat.page.get_by_text(why)).to_be_visible()
    await chooser.set_input_files(pdf("tides.pdf", TIDES))
    files = chat.page.get_by_role("list", name="Files of this message")
    await expect(files).to_have_text(re.compile(r"^\s*tides\.pdf\s*\d+ tokens\s*$"))
    letter = docx(docx_paragraph("Low water at noon."))
    await chooser.set_input_files({"name": "tides.docx", "mimeType": "", "buffer": letter})
    await expect(files).to_contain_text("tides.docx")

    await chat.composer.fill("When?")
    await chat.composer.press("Enter")
    await chat.expect_status("incomplete")

    question = (await chat.stored(conversation))["messages"][0]["content"]
    document = '<file name="tides.docx">\nLow water at noon.\n</file>'
    assert question == f'When?\n\n<file name="tides.pdf">\nHigh water at six.\n\n潮汐\n</file>\n\n{document}'


PASTE = """(field, bytes) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([new Uint8Array(bytes)], "pasted.pdf", {type: "application/pdf"}));
    field.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""

PASTE_TEXT = """(field, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    field.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


COPY_CELLS = """async text => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 2, height: 2});
    const picture = await new Promise((resolve) => canvas.toBlob(resolve));
    const forms = {"text/plain": new Blob([text], {type: "text/plain"}), "image/png": picture};
    await navigator.clipboard.write([new ClipboardItem(forms)]);
}"""
"""Copies cells as an office program does: with a picture of them."""


@PAGE
async def test_pasted_cells_are_text_and_not_their_picture(new_page: NewPage) -> None:
    chat = await new_page(permissions=["clipboard-read", "clipboard-write"])
    await chat.open_new_chat(tokens=1)
    await chat.page.evaluate(COPY_CELLS, "day\twind\nmonday\t4")
    await chat.composer.press("Control+V")
    await expect(chat.composer).to_have_value("day\twind\nmonday\t4")
    await expect(chat.page.get_by_role("alert").filter(has_text="image.png")).to_have_count(0)


@PAGE
async def test_long_paste_is_a_file_until_inserted_as_text(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=1)
    pasted = "High water at six.\n" * 250
    await chat.composer.fill("When? ")
    await chat.composer.evaluate(PASTE_TEXT, pasted)
    files = chat.page.get_by_role("list", name="Files of this message").get_by_role("listitem")
    await expect(files).to_contain_text(["Pasted text 1"])
    await expect(chat.composer).to_have_value("When? ")

    await chat.page.reload()
    await chat.button("Insert as text").click()
    await expect(files).to_have_count(0)
    await expect(chat.composer).to_have_value("When? " + pasted)
    await expect(chat.composer).to_be_focused()


WATCH = """() => {
    addEventListener("dragover", (event) => document.body.toggleAttribute("data-takes", event.defaultPrevented));
}"""


async def drop(page: Page, file: Path) -> None:
    """Drag `file` over the page until the page accepts it, then drop it on a button.

    No dragover event on the button precedes the drop, as when a user moves fast.
    """
    drag = await FileDrag.begin(page, file)
    await page.evaluate(WATCH)
    await drag.move("dragEnter", 600, 200)
    while not await page.locator("body[data-takes]").count():
        await drag.move("dragOver", 600, 200)
    button = await page.get_by_role("button", name="Chat settings").bounding_box()
    assert button is not None
    await drag.move("drop", button["x"] + button["width"] / 2, button["y"] + button["height"] / 2)


@PAGE
async def test_pdf_can_be_dropped_anywhere_and_pasted(chat: ChatPage, tmp_path: Path) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    dropped = tmp_path / "dropped.pdf"
    dropped.write_bytes(TIDES)
    await expect(chat.composer).to_be_focused()
    await drop(chat.page, dropped)
    files = chat.page.get_by_role("list", name="Files of this message").get_by_role("listitem")
    await expect(files).to_have_text([re.compile(r"^\s*dropped\.pdf\s*\d+ tokens\s*$")])

    await chat.composer.evaluate(PASTE, list(TIDES))
    await expect(files).to_have_text([re.compile(r"dropped\.pdf"), re.compile(r"^\s*pasted\.pdf\s*\d+ tokens\s*$")])
    await expect(chat.composer).to_have_value("")

    await chat.composer.press("Enter")
    await chat.expect_status("incomplete")
    question = (await chat.stored(conversation))["messages"][0]["content"]
    text = "High water at six.\n\n潮汐"
    assert question == "\n\n".join(f'<file name="{name}.pdf">\n{text}\n</file>' for name in ("dropped", "pasted"))


KINDS: dict[str, tuple[bytes, str]] = {
    "tides.xlsx": (xlsx(), '## Tides\n\nday,"height, m"\nMonday,4.5'),
    "tides.pptx": (pptx_file(), "## Slide 1\n\nSpring tides\n\nFundy | 16 m\n\nNotes: Speak slowly"),
    "tides.epub": (epub(), "# Ebb\n\nHigh water at six."),
    "tides.docx": (docx(docx_paragraph("Low water at noon.")), "Low water at noon."),
    "tides.html": (
        b"<head><title>No</title></head><h1>Tides</h1><p>Ebb, <b>then</b> flood.",
        "# Tides\n\nEbb, **then** flood.",
    ),
    "utf16.txt": ("Hochwasser um sechs: 潮汐".encode("utf-16"), "Hochwasser um sechs: 潮汐"),
    "cp1252.txt": ("Ebbe über Büsum".encode("cp1252"), "Ebbe über Büsum"),
    "gbk.txt": ("六点涨潮，请在码头等我们。".encode("gbk"), "六点涨潮，请在码头等我们。"),
    "koi8.txt": ("Прилив в шесть часов утра.".encode("koi8-r"), "Прилив в шесть часов утра."),
}


@PAGE
async def test_text_of_each_kind_of_file_reaches_the_model(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1)
    payloads: list[FilePayload] = [
        {"name": name, "mimeType": "", "buffer": content} for name, (content, _) in KINDS.items()
    ]
    await chat.page.get_by_label("Attach files").first.set_input_files(payloads)
    files = chat.page.get_by_role("list", name="Files of this message").get_by_role("listitem")
    await expect(files).to_have_text([re.compile(rf"^\s*{re.escape(name)}\s*\d+ tokens\s*$") for name in KINDS])

    await chat.composer.press("Enter")
    await chat.expect_status("incomplete")
    question = (await chat.stored(conversation))["messages"][0]["content"]
    assert question == "\n\n".join(f'<file name="{name}">\n{text}\n</file>' for name, (_, text) in KINDS.items())
