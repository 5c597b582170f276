"""Every view of the page and the steps that lead to it, for the screenshots and for checks of all views."""

import json
import re
from collections.abc import Awaitable, Callable

from playwright.async_api import FilePayload, Locator, expect

from tests.e2e.chat_page import ANSWER_MS, ChatPage

# Tokens of an answer that is still being written during the next steps.
ENDLESS = 2_000


GO = """path => {
    if (document.querySelector("main > header") === null) return false;
    for (const open of document.querySelectorAll("dialog[open]")) open.close();
    if (location.pathname === path) return path === "/";
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
    return true;
}"""
"""Shows an address in the open application, which takes less than to load the page. Returns whether it did."""


class Views:
    """Navigation to every view of the page.

    The server must have `showcase("Tides and tables")`, another showcase in the archive,
    and the chat `resumed` with two turns.
    """

    def __init__(self, chat: ChatPage, resumed: str, *, phone: bool = False) -> None:
        self._chat = chat
        self._resumed = resumed
        self._phone = phone
        # Whether the next view must load the page: it would not see all chats otherwise.
        self._loads = phone

    def all(self) -> list[Callable[[], Awaitable[None]]]:
        """Return one function per view. Each leads from any view to the one that it is named after.

        Views of chats and of the empty page take turns, because the page loads again for two views of the same chat.
        """
        return [
            self.empty,
            self.answer,
            self.menu,
            self.branch,
            self.prompts,
            self.tree,
            self.archive,
            self.editing,
            self.preferences,
            self.editing_answer,
            self.palette,
            self.regenerating,
            self.deleting,
            self.comparing,
            self.deleting_all,
            self.resumed,
            self.deleted,
            self.receipt,
            self.importing,
            self.message,
            self.organizing,
            self.search,
            self.foldering,
            self.settings,
            self.sharing,
            self.keys,
            self.live,
            self.admin,
            self.nowhere,
            self.too_long,
            self.selecting,
            self.shared,
            self.queued,
            self.held,
            self.trouble,
        ]

    async def empty(self) -> None:
        await self._go("/")
        await self._chat.page.get_by_text("runs on").wait_for()

    async def answer(self) -> None:
        await self._showcase()
        await self._top()

    async def branch(self) -> None:
        await self._showcase()

    async def tree(self) -> None:
        await self._showcase()
        await self._chat.button("Branches of this chat").click()
        await self._chat.page.get_by_role("treeitem").first.wait_for()

    async def editing(self) -> None:
        await self._showcase()
        await self._top()
        await self._chat.page.get_by_test_id("question").hover()
        await self._chat.button("Edit question").click()

    async def editing_answer(self) -> None:
        await self._of_answer("Edit answer")

    async def regenerating(self) -> None:
        await self._of_answer("Regenerate with…")

    async def comparing(self) -> None:
        await self._of_answer("Compare answers…")
        await self._chat.page.get_by_role("dialog").get_by_role("button", name="Compare").click()
        keep = self._chat.page.get_by_role("button", name="Keep this one")
        await keep.nth(1).wait_for(timeout=ANSWER_MS)

    async def prompts(self) -> None:
        await self._go("/")
        await self._chat.composer.press_sequentially("/")
        await self._chat.page.get_by_role("option", name="New prompt").click()
        await (
            self._chat.page.get_by_role("dialog", name="Saved prompts").get_by_text("No saved prompts yet.").wait_for()
        )

    async def _of_answer(self, item: str) -> None:
        await self.resumed()
        await self._chat.choose_of_answer(item)
        await self._chat.page.locator("dialog[open], form textarea[rows='6']").first.wait_for()

    async def resumed(self) -> None:
        await self._go(f"/c/{self._resumed}")
        await self._chat.page.get_by_test_id("receipt").last.wait_for()

    async def receipt(self) -> None:
        await self._go(f"/c/{self._resumed}")
        await self._chat.page.get_by_test_id("receipt").last.get_by_role("button").click()
        await self._chat.page.get_by_text("Why wasn't more reused").wait_for()
        await self._chat.thread.evaluate("element => element.scrollTo(0, element.scrollHeight)")

    async def message(self) -> None:
        await self.resumed()
        await self._chat.answers.last.get_by_role("button", name="More actions for this").click()
        await self._chat.page.get_by_role("menuitem").first.wait_for()

    async def search(self) -> None:
        await self._go(f"/c/{self._resumed}")
        await self._chat.answers.first.wait_for()
        await self._chat.page.keyboard.press("Control+Shift+F")
        await self._chat.page.keyboard.type("tid")
        found = self._chat.page.get_by_role("navigation", name="Found")
        await found.get_by_role("link").first.wait_for()
        await found.get_by_text("Filters", exact=True).click()
        self._loads = True

    async def menu(self) -> None:
        await self._list()
        await self._chat.page.get_by_role("navigation", name="Chats", exact=True).get_by_role("link").first.hover()
        await self._chat.page.get_by_role("complementary").get_by_role("button", name="More actions for").first.click()

    async def archive(self) -> None:
        await self._list()
        await self._item("Archived chats")
        await self._chat.page.get_by_role("heading", name="Archived chats").wait_for()
        self._loads = True

    async def settings(self) -> None:
        await self._showcase()
        await self._chat.button("Chat settings").click()

    async def preferences(self) -> None:
        await self._list()
        await self._chat.button("Settings").click()
        await self._chat.page.get_by_role("dialog", name="Settings").wait_for()

    async def keys(self) -> None:
        await self._showcase()
        await self._chat.page.keyboard.press("Control+/")

    async def live(self) -> None:
        await self._go("/live")
        await self._chat.page.get_by_role("img", name="Hit rate").wait_for()

    async def palette(self) -> None:
        await self._list()
        await self._chat.page.keyboard.press("Control+k")
        await self._chat.page.get_by_role("option").first.wait_for()

    async def admin(self) -> None:
        await self._go("/admin")
        await self._chat.page.get_by_role("heading", name="People", exact=True).wait_for()

    async def nowhere(self) -> None:
        await self._go("/nowhere")
        await self._chat.page.get_by_text("nothing at this address").wait_for()

    async def deleting(self) -> None:
        await self.menu()
        await self._chat.page.get_by_role("menuitem", name="Delete").click()
        await self._chat.page.get_by_role("dialog").wait_for()

    async def deleting_all(self) -> None:
        await self._list()
        await self._item("Delete all chats…")
        await self._chat.page.get_by_role("dialog", name="Delete all chats?").wait_for()

    async def too_long(self) -> None:
        await self.resumed()
        log: FilePayload = {"name": "log.txt", "mimeType": "text/plain", "buffer": b"The tide is out.\n" * 12_000}
        await self._chat.page.get_by_label("Attach files").first.set_input_files(log)
        warning = self._chat.page.get_by_role("group", name="The message is too long")
        await warning.get_by_role("button", name="Remove log.txt").wait_for()

    async def queued(self) -> None:
        await self._chat.open_new_chat(tokens=ENDLESS)
        await self._send("How deep is the sea?", "Send")
        await self._chat.until_writing()
        for text in ("And how wide?", "And how cold?"):
            await self._send(text, "Send when the answer is complete")
        await self._queue.nth(1).wait_for()

    async def _send(self, text: str, button: str) -> None:
        """Send a message by a button, since Enter adds a line on a phone."""
        await self._chat.composer.fill(text)
        await self._chat.button(button).click()
        await expect(self._chat.composer).to_have_value("")

    async def held(self) -> None:
        if await self._queue.count() == 0:
            await self.queued()
        await self._chat.button("Stop").click()
        await self._queue.get_by_text("Not sent yet").wait_for()

    @property
    def _queue(self) -> Locator:
        return self._chat.page.get_by_role("group", name="Queued message")

    async def deleted(self) -> None:
        for title in ("A first attempt", "Notes for the crossing"):
            conversation = await self._chat.new_chat(tokens=1, title=title)
            await self._chat.page.request.delete(f"/api/conversations/{conversation}")
        await self._list()
        await self._item("Recently deleted")
        await self._chat.button("Restore “A first attempt”").first.wait_for()
        self._loads = True

    async def importing(self) -> None:
        await self._list()
        await self._item("Import chats…")
        content = {"content_type": "multimodal_text", "parts": ["Where does the tide go?", {"content_type": "image"}]}
        mapping = {"q": {"message": {"author": {"role": "user"}, "content": content}}}
        chats = [{"id": name, "title": name, "mapping": mapping} for name in ("Tides", "Harbours", "Ropes")]
        file = json.dumps([*chats, {"title": "Broken", "mapping": 1}]).encode()
        await self._chat.page.get_by_label("Drop a file here").set_input_files(
            {"name": "conversations.json", "mimeType": "application/json", "buffer": file}
        )
        await self._chat.page.get_by_text("3 chats from ChatGPT").wait_for()
        await self._chat.page.get_by_text("1 chat cannot be read").click()

    async def organizing(self) -> None:
        await self._organized()
        await self._chat.page.get_by_role("navigation", name="Chats", exact=True).get_by_role("link").first.hover()
        await self._chat.page.get_by_role("complementary").get_by_role("button", name="More actions for").first.click()
        await self._chat.page.get_by_role("menuitem", name="Folder and tags…").click()
        await self._chat.page.get_by_label("Folder", exact=True).wait_for()

    async def selecting(self) -> None:
        await self._organized()
        await self._chat.page.get_by_role("navigation", name="Chats", exact=True).get_by_role("link").first.hover()
        await self._chat.page.get_by_role("complementary").get_by_role("button", name="More actions for").first.click()
        await self._chat.page.get_by_role("menuitem", name="Select chats").click()
        await self._chat.page.get_by_text("1 selected").wait_for()
        self._loads = True

    async def sharing(self) -> None:
        await self._list()
        await self._chat.choose("Tides and tables", "Share…")
        await self._chat.page.get_by_role("button", name="Create link").click()
        await self._chat.page.get_by_label("Link", exact=True).wait_for()

    async def shared(self) -> None:
        chats = (await (await self._chat.page.request.get("/api/conversations")).json())["data"]
        [tides, *_] = [each["id"] for each in chats if each["title"] == "Tides and tables"]
        made = await self._chat.page.request.post(f"/api/conversations/{tides}/shares", data={"receipts": True})
        await self._chat.page.goto((await made.json())["path"])

    async def foldering(self) -> None:
        await self._organized()
        await self._chat.page.get_by_role("button", name=re.compile("^Sailing")).click()
        await self._chat.button("Folder settings").click()
        await self._chat.page.get_by_label("System prompt").fill("Answer like a pilot of this harbour.")
        self._loads = True

    async def _organized(self) -> None:
        request = self._chat.page.request
        await request.post("/api/folders", data={"name": "Sailing"})
        folders = (await (await request.get("/api/folders")).json())["data"]
        folder = next(each["id"] for each in folders if each["name"] == "Sailing")
        await request.post("/api/folders", data={"name": "Harbours of the Baltic", "parent_id": folder})
        await self._chat.new_chat(tokens=1, title="Harbours", folder=folder)
        await self._list()
        await self._chat.page.get_by_role("button", name=re.compile("^Sailing")).wait_for()

    async def trouble(self) -> None:
        page = self._chat.page
        await self._showcase()
        await page.route("**/api/conversations/*/messages", lambda route: route.abort())
        await self._chat.composer.fill("Are you there?")
        await self._chat.button("Send").click()
        await page.get_by_role("alert").filter(has_text="cannot be reached").wait_for()
        await page.route("**/health", lambda route: route.abort())
        await page.evaluate("window.dispatchEvent(new Event('online'))")
        await page.get_by_text("Server unreachable").wait_for()
        await page.unroute_all()

    async def _go(self, path: str) -> None:
        """Show an address, loading the page only if that is needed to leave the view."""
        await self._chat.page.keyboard.press("Escape")
        if self._loads or not await self._chat.page.evaluate(GO, path):
            await self._chat.page.goto(path)
        self._loads = self._phone

    async def _showcase(self) -> None:
        await self._go("/")
        await self._open_list()
        await self._chat.chats.get_by_text("Tides and tables", exact=True).click()
        await self._chat.page.locator(".katex").first.wait_for()

    async def _list(self) -> None:
        await self._go("/")
        await self._open_list()
        await self._chat.chats.first.wait_for()

    async def _open_list(self) -> None:
        if self._phone:
            await self._chat.button("Open the list of chats").click()

    async def _item(self, name: str) -> None:
        await self._chat.open_menu_item(name)

    async def _top(self) -> None:
        await self._chat.thread.evaluate("element => element.scrollTo(0, 0)")
