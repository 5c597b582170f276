"""Rights of groups on the page: what a person may not use is not shown. A fake engine answers."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from app.accounts.accounts import Accounts
from app.accounts.proxy_login import ProxyLogin
from app.accounts.rules import GroupRules
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.test_chat_accessibility import ALL, violations
from tests.integration.api_server import RunningServer, running_server
from tests.sizes import PAGE

pytestmark = PAGE

RULES = GroupRules(
    {"staff": "user", "ops": "admin"}, default_rights=frozenset(), rights={"staff": frozenset({"files"})}
)


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    proxy = ProxyLogin("x-user", "x-groups", (ip_network("127.0.0.1"),))
    async with running_server(
        tmp_path,
        ReplayEngine(),
        static=STATIC,
        auth_policy="always",
        accounts=Accounts(proxy=proxy, rules=RULES),
        share_links=True,
    ) as server:
        yield server


async def test_features_without_a_right_are_not_shown(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    pages = {}
    for name, group in (("ada", "staff"), ("root", "ops")):
        headers = {"X-User": name, "X-Groups": group}
        context = await browser.new_context(base_url=server.url, extra_http_headers=headers)
        pages[name] = ChatPage(await context.new_page())
        await pages[name].page.goto("/")
        await pages[name].send("Hello.")
        await pages[name].expect_status("complete")
        await pages[name].page.goto("/")
    for name, page in pages.items():
        has_all = name == "root"

        async def shown(element: Locator, is_shown: bool) -> None:
            await expect(element).to_have_count(1 if is_shown else 0)

        await expect(page.button("Your files")).to_be_visible()
        await shown(page.button("Temporary chat"), has_all)
        await page.button("Settings").click()
        await expect(page.button("Archived chats")).to_be_visible()
        await shown(page.button("Export all chats"), has_all)
        await shown(page.button("Import chats…"), has_all)
        await page.page.keyboard.press("Escape")
        await page.chats.get_by_text("Hello.", exact=True).hover()
        await page.menu_of("Hello.").click()
        await expect(page.page.get_by_role("menuitem", name="Delete")).to_be_visible()
        await shown(page.page.get_by_role("menuitem", name="Share…"), has_all)
        await shown(page.page.get_by_role("menuitem", name="Export as JSON"), has_all)
        await page.page.keyboard.press("Escape")
        await page.button(name).click()
        await expect(page.page.get_by_role("heading", name="Keys")).to_be_visible()
        await shown(page.button("Create a key"), has_all)
    await pages["root"].page.goto("/admin")
    row = pages["root"].page.get_by_role("row").filter(has=pages["root"].page.get_by_role("rowheader", name="ada"))
    await expect(row.first).to_contain_text("files")
    await expect(pages["root"].page.get_by_role("columnheader", name="Rights")).to_be_visible()
    assert await violations(pages["root"], ALL) == []
    for opened in browser.contexts:
        await opened.close()
