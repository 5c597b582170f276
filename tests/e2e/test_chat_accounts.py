"""Accounts: two people log in at a real provider, see their own chats only, and log out. A fake engine answers."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from app.accounts.accounts import Accounts
from app.accounts.provider import OidcClient, OidcProvider
from app.accounts.rules import GroupRules
from app.domain.token_prices import TokenPrices
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.test_chat_accessibility import violations_in_both
from tests.integration.api_server import RunningServer, running_server
from tests.oidc_provider import oidc_provider
from tests.sizes import PAGE

pytestmark = PAGE

PEOPLE = (
    {"sub": "ada", "name": "Ada", "email": "ada@example.org", "groups": ["ops"]},
    {"sub": "bob", "name": "Bob", "groups": ["staff"]},
    {"sub": "eve", "name": "Eve", "groups": []},
)
PRICES = TokenPrices("EUR", input=1_000_000, cached=100_000, output=2_000_000)


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    with oidc_provider(*map(json.dumps, PEOPLE)) as url:
        yield url


@pytest_asyncio.fixture(loop_scope="session")
async def server(issuer: str, tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    rules = GroupRules({"staff": "user", "ops": "admin"})
    accounts = Accounts(rules=rules)
    async with running_server(
        tmp_path, ReplayEngine(), static=STATIC, auth_policy="always", accounts=accounts, token_prices=PRICES
    ) as server:
        # The provider sends people back to the port, which is known only now.
        home = f"{server.url}/"
        client = OidcClient(
            issuer=issuer,
            client_id="ebb",
            secret="s3cret",
            scopes="openid profile email",
            groups_claim="groups",
            redirect_uri=f"{home}login/callback",
            home=home,
        )
        object.__setattr__(server.services.access.accounts, "provider", OidcProvider(client))
        yield server


async def log_in(page: Page, name: str) -> None:
    await page.get_by_role("button", name="Log in at 127.0.0.1").click()
    await page.locator("input[name=sub]").fill(name)
    await page.get_by_role("button", name="Authorize").click()


async def test_two_people_log_in_chat_apart_and_log_out(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    ada, bob = [ChatPage(await (await browser.new_context(base_url=server.url)).new_page()) for _ in range(2)]
    await ada.page.goto("/")
    await expect(ada.button("Log in at 127.0.0.1")).to_be_focused()
    assert await violations_in_both(ada) == []
    await log_in(ada.page, "ada")
    await ada.send("Hello.")
    await ada.expect_status("complete")
    assert await ada.page.evaluate("document.cookie") == "", "a script can read the login cookie"
    address = ada.page.url

    await bob.page.goto(address)
    await log_in(bob.page, "bob")
    assert bob.page.url == address, "the login returns to the address"
    await expect(bob.page.get_by_text("There is no such chat or message.")).to_be_visible()
    await expect(bob.chats).to_have_count(0)

    await ada.button("Ada").click()
    dialog = ada.page.get_by_role("dialog", name="Ada")
    await expect(dialog).to_contain_text("ada@example.org")
    await expect(dialog.get_by_role("link", name="Hello.")).to_be_visible()
    await dialog.get_by_label("Name of the new key").fill("laptop")
    await ada.button("Create a key").click()
    await expect(dialog.get_by_text("sk-ebb-")).to_be_visible()
    assert await violations_in_both(ada) == []
    await ada.button("People and limits").click()
    await expect(ada.page.get_by_role("rowheader", name="Bob").first).to_be_visible()
    assert await violations_in_both(ada) == []
    await ada.button("Limits of Ada").click()
    await ada.page.get_by_label("Answers at once").fill("3")
    assert await violations_in_both(ada) == []
    await ada.button("Save").click()
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)
    [limited] = (await server.services.store.limits.all()).values()
    assert (limited.concurrent_runs, limited.conversations) == (3, None)
    await ada.button("Disable Bob").click()
    await ada.button("Disable").click()
    await expect(ada.button("Enable Bob")).to_be_visible()
    await bob.page.reload()
    await log_in(bob.page, "bob")
    await expect(bob.page.get_by_role("alert")).to_contain_text("disabled")

    await ada.button("Ada").click()
    await ada.button("Log out").click()
    # The provider asks before its own session ends.
    await ada.page.get_by_role("button").first.click()
    await expect(ada.button("Log in at 127.0.0.1")).to_be_visible()
    assert ada.page.url == f"{server.url}/"
    for opened in browser.contexts:
        await opened.close()


async def test_person_without_group_reads_the_reason(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    context = await browser.new_context(base_url=server.url)
    page = await context.new_page()
    await page.goto("/")
    await log_in(page, "eve")
    await expect(page.get_by_role("alert")).to_contain_text("may not use this server")
    assert page.url == f"{server.url}/"
    await context.close()


async def test_answers_and_chats_have_costs(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    context = await browser.new_context(base_url=server.url)
    chat = ChatPage(await context.new_page())
    await chat.page.goto("/")
    await log_in(chat.page, "ada")
    await chat.send("Hello.")
    await chat.expect_status("complete")
    usage = (await chat.stored(chat.page.url.rpartition("/")[2]))["messages"][-1]["usage"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    cost = usage["prompt_tokens"] - cached + cached / 10 + 2 * usage["completion_tokens"]

    receipt = chat.page.get_by_test_id("receipt")
    await receipt.get_by_role("button").click()
    await expect(receipt.get_by_role("definition").get_by_text(f"€{cost:,.2f}", exact=True)).to_be_visible()
    await chat.button("Ada").click()
    usage_table = chat.page.get_by_role("region", name=re.compile("^Usage"))
    await expect(usage_table.get_by_role("cell", name=f"€{cost:,.2f}")).to_have_count(3)
    assert await violations_in_both(chat) == []
    await context.close()
