"""Page object of the chat page: elements found by role and name, and API calls that prepare a test's data."""

import re
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Locator, Page, expect

# Only an answer may wait for a busy machine. Everything else on the page must be quick.
ANSWER_MS = 90_000
POLL_MS = 50
AT_END = """element => element.scrollHeight - element.scrollTop - element.clientHeight < 4"""
CHAT_URL = re.compile(r"/c/conv_\w+$")


@dataclass(frozen=True, slots=True)
class ChatPage:
    page: Page

    @property
    def composer(self) -> Locator:
        return self.page.get_by_label("Message", exact=True)

    @property
    def answers(self) -> Locator:
        return self.page.get_by_role("article", name="Ebb")

    @property
    def questions(self) -> Locator:
        return self.page.get_by_test_id("question")

    @property
    def chats(self) -> Locator:
        return self.page.get_by_role("navigation", name="Chats", exact=True).get_by_role("link")

    @property
    def thread(self) -> Locator:
        return self.page.get_by_test_id("thread")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    @property
    def header(self) -> Locator:
        return self.page.locator("main > header")

    def menu_of(self, title: str) -> Locator:
        """Return the button of the menu of the chat `title` in the list."""
        return self.page.get_by_role("complementary").get_by_role(
            "button", name=f"More actions for {title}", exact=True
        )

    async def go_to_oldest_chats(self) -> None:
        """Move to the end of the list, of which only the part that is seen is drawn. Imported chats may be old."""
        await self.chats.first.focus()
        await self.page.keyboard.press("End")

    async def choose(self, title: str, item: str) -> None:
        """Choose `item` in the menu of the chat `title` in the list."""
        await self.chats.get_by_text(title, exact=True).hover()
        # With the focus, the button stays visible when folders above the chats appear late and move them.
        await self.menu_of(title).focus()
        await self.menu_of(title).click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def open_menu_item(self, item: str) -> None:
        """Choose `item` in the settings of the page."""
        await self.button("Settings").click()
        await self.page.get_by_role("dialog", name="Settings").get_by_role("button", name=item, exact=True).click()

    async def send(self, text: str) -> None:
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.composer).to_have_value("")

    async def text_of_answer(self) -> str:
        return await self.answers.last.locator(".markdown").inner_text()

    async def until_writing(self, *, characters: int = 1) -> str:
        """Wait until the last answer has at least `characters` characters, and return its text."""
        await self.page.wait_for_function(
            """characters => {
                const text = [...document.querySelectorAll("article[data-status] .markdown")].at(-1)?.innerText;
                return text !== undefined && text.trim().length >= characters;
            }""",
            arg=characters,
            polling=POLL_MS,
            timeout=ANSWER_MS,
        )
        return await self.text_of_answer()

    async def until_at_end(self) -> None:
        """Wait until the thread is scrolled to its end."""
        await self.page.wait_for_function(AT_END, arg=await self.thread.element_handle())

    async def toggle_raw(self, answer: Locator) -> None:
        """Switch an answer between formatted and raw text."""
        await answer.get_by_role("button", name="More actions for this answer").click()
        await self.page.get_by_role("menuitem", name=re.compile("^(Raw|Formatted) text$")).click()

    async def choose_of_answer(self, item: str) -> None:
        """Choose `item` in the menu of the last answer."""
        await self.answers.last.get_by_role("button", name="More actions for this answer").click()
        await self.page.get_by_role("menuitem", name=item, exact=True).click()

    async def expect_status(self, status: str) -> None:
        await expect(self.answers.last).to_have_attribute("data-status", status, timeout=ANSWER_MS)

    async def new_chat(self, *, tokens: int, title: str | None = None, folder: str | None = None) -> str:
        """Create a conversation whose answers are deterministic and exactly `tokens` tokens long. Return its id."""
        body: dict[str, Any] = {"params": answers_of(tokens)}
        if title is not None:
            body["title"] = title
        if folder is not None:
            body |= {"folder_id": folder, "tags": ["summer"]}
        response = await self.page.request.post("/api/conversations", data=body)
        assert response.status == 201, await response.text()
        conversation: dict[str, str] = await response.json()
        return conversation["id"]

    async def open_new_chat(self, *, tokens: int, title: str | None = None) -> str:
        conversation_id = await self.new_chat(tokens=tokens, title=title)
        await self.page.goto(f"/c/{conversation_id}")
        return conversation_id

    async def take_in(self, file: dict[str, Any]) -> str:
        """Import a file with one conversation that the server does not have yet. Return the conversation's id."""
        response = await self.page.request.post("/api/import", data=file)
        assert response.status == 200, await response.text()
        [conversation_id] = (await response.json())["imported"]
        assert isinstance(conversation_id, str)
        return conversation_id

    async def open_imported(self, file: dict[str, Any]) -> str:
        conversation_id = await self.take_in(file)
        await self.page.goto(f"/c/{conversation_id}")
        return conversation_id

    async def stored(self, conversation_id: str) -> dict[str, Any]:
        """Return the conversation as the server stores it."""
        response = await self.page.request.get(f"/api/conversations/{conversation_id}")
        assert response.status == 200, await response.text()
        conversation: dict[str, Any] = await response.json()
        return conversation


def answers_of(tokens: int) -> dict[str, Any]:
    """Build parameters for deterministic answers of exactly `tokens` tokens."""
    return {"temperature": 0, "max_tokens": tokens, "min_tokens": tokens, "ignore_eos": True}
