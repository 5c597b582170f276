"""Links to chats: made and deleted on the page, and read without a login and without scripts."""

import re

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import NewPage
from tests.e2e.showcase import showcase


async def test_link_is_read_without_scripts_until_deleted(chat: ChatPage, new_page: NewPage) -> None:
    await chat.take_in({**showcase("Tides to share"), "exported_at": 1.0})
    await chat.page.goto("/")
    await chat.go_to_oldest_chats()
    await chat.choose("Tides to share", "Share…")
    dialog = chat.page.get_by_role("dialog")
    await dialog.get_by_label("Expires after").select_option("7 days")
    await dialog.get_by_role("button", name="Create link").click()
    link = await dialog.get_by_label("Link", exact=True).input_value()
    assert re.fullmatch(r"http://[^/]+/share/[\w-]{43}", link)
    await expect(dialog.get_by_role("img", name="QR code of the link")).to_be_visible()

    visitor = await new_page(java_script_enabled=False)
    await visitor.page.goto(link)
    await expect(visitor.page.get_by_role("heading", name="Tides to share")).to_be_visible()
    await expect(visitor.page.get_by_role("table").first).to_be_visible()
    assert await visitor.page.locator("script").count() == 0
    # The policy allows the page's own style.
    await expect(visitor.page.locator(".question").first).to_have_css("white-space-collapse", "preserve")

    await dialog.get_by_role("button", name="Delete the link to Tides to share").click()
    await expect(dialog.get_by_role("button", name="Delete the link to Tides to share")).to_have_count(0)
    response = await visitor.page.goto(link)
    assert response is not None
    assert response.status == 404
    await expect(visitor.page.get_by_role("heading", name="This link does not exist")).to_be_visible()
