"""Passwords on the page: login, change, second factor, and people that an administrator adds. A fake engine answers."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from app.accounts.accounts import Accounts
from app.accounts.passwords import Passwords
from app.accounts.rules import GroupRules
from app.accounts.second_factor import STEP_SECONDS
from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.test_chat_accessibility import violations_in_both
from tests.integration.api_server import RunningServer, running_server
from tests.many_accounts import add_accounts
from tests.second_factor_device import code_at
from tests.sizes import PAGE

pytestmark = PAGE

CHOSEN = "twelve grey gulls"
RAGGED = """dialog => {
    const rows = new Map();
    for (const button of dialog.querySelectorAll(".actions > button")) {
        const {top, right} = button.getBoundingClientRect();
        rows.set(top, Math.max(rows.get(top) ?? 0, right));
    }
    return [...rows.values()];
}"""
"""Returns where each row of the account's buttons ends."""


@pytest_asyncio.fixture(loop_scope="session")
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    accounts = Accounts(rules=GroupRules(admits_own=True), passwords=Passwords(memory_kib=64))
    async with running_server(
        tmp_path, ReplayEngine(), static=STATIC, auth_policy="always", accounts=accounts
    ) as server:
        yield server


async def log_in(page: Page, name: str, password: str) -> None:
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_role("button", name="Log in", exact=True).click()


async def test_password_is_changed_and_second_factor_asked_for(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    _, password = await server.services.access.password_logins.add("ada", admin=False)
    ada = ChatPage(await (await browser.new_context(base_url=server.url)).new_page())
    await ada.page.goto("/")
    await expect(ada.page.get_by_label("Name", exact=True)).to_be_focused()
    assert await violations_in_both(ada) == []
    await log_in(ada.page, "ada", "wrong")
    await expect(ada.page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
    await log_in(ada.page, "ada", password)

    notice = ada.page.get_by_text("An administrator gave you this password.")
    await expect(notice).to_be_visible()
    # The notice stays until it is answered, and must not cover the end of the chat.
    await ada.send("How high is the tide? " * 60)
    await ada.expect_status("complete")
    await ada.thread.evaluate("each => { each.scrollTop = each.scrollHeight; }")
    await expect(notice).to_be_visible()
    covering, covered = await notice.bounding_box(), await ada.answers.last.bounding_box()
    assert covering is not None
    assert covered is not None
    assert covered["y"] + covered["height"] <= covering["y"]
    await ada.button("Choose a password").click()
    dialog = ada.page.get_by_role("dialog", name="ada")
    await expect(dialog).to_contain_text("An administrator gave you this password.")
    row = await dialog.evaluate(RAGGED)
    assert max(row) - min(row) <= 1, "each row of buttons is as wide as the dialog"
    await dialog.get_by_label("Current password").fill(password)
    await dialog.get_by_label("New password").fill(CHOSEN)
    await ada.button("Change password").click()
    await expect(dialog).to_contain_text("The password was changed.")

    await ada.button("Set up…").click()
    # A stolen login does not know the password.
    await expect(dialog.get_by_label("Current password").last).to_be_focused()
    await dialog.get_by_label("Current password").last.fill(CHOSEN)
    await ada.button("Set up…").click()
    await expect(dialog.get_by_role("img", name="QR code for an authenticator app")).to_be_visible()
    assert await violations_in_both(ada) == []
    secret = await dialog.locator("code").inner_text()
    await dialog.get_by_label("Code", exact=True).fill(code_at(secret, time.time()))
    await ada.button("Turn on").click()
    await expect(dialog.get_by_role("listitem").filter(has_text="-")).to_have_count(10)
    assert await violations_in_both(ada) == []
    await ada.button("Log out").click()

    await log_in(ada.page, "ada", CHOSEN)
    await expect(ada.page.get_by_label("Code", exact=True)).to_be_focused()
    await ada.page.get_by_label("Code", exact=True).fill("000000")
    await ada.button("Log in").first.click()
    await expect(ada.page.get_by_role("alert")).to_have_text("The code is wrong, or was used before.")
    # The code of the current step was used, and the next one is accepted early.
    await ada.page.get_by_label("Code", exact=True).fill(code_at(secret, time.time() + STEP_SECONDS))
    await ada.button("Log in").first.click()
    await expect(ada.button("ada")).to_be_visible()


async def test_administrator_adds_person_and_resets_password(
    browser: Browser, server: RunningServer[ReplayEngine]
) -> None:
    _, password = await server.services.access.password_logins.add("root", admin=True)
    root, bob = [ChatPage(await (await browser.new_context(base_url=server.url)).new_page()) for _ in range(2)]
    await root.page.goto("/admin")
    await log_in(root.page, "root", password)
    await root.page.get_by_label("Name of the new person").fill("bob")
    await root.button("Add a person").click()
    status = root.page.get_by_role("status").filter(has_text="Give bob this password now.")
    first = await status.locator("code").inner_text()
    await expect(root.page.get_by_role("rowheader", name="bob").first).to_be_visible()
    assert await violations_in_both(root) == []
    await bob.page.goto("/")
    await log_in(bob.page, "bob", first)
    await expect(bob.button("bob")).to_be_visible()

    await root.button("New password for bob").click()
    await root.page.get_by_role("dialog").get_by_role("button", name="New password").click()
    await expect(status.locator("code")).not_to_have_text(first)
    await bob.page.reload()
    await log_in(bob.page, "bob", await status.locator("code").inner_text())
    await expect(bob.button("bob")).to_be_visible()


async def test_administrator_finds_person_among_many(browser: Browser, server: RunningServer[ReplayEngine]) -> None:
    await add_accounts(server.services.store, 130)
    _, password = await server.services.access.password_logins.add("root", admin=True)
    root = ChatPage(await (await browser.new_context(base_url=server.url)).new_page())
    await root.page.goto("/admin")
    await log_in(root.page, "root", password)
    people = root.page.get_by_role("region", name="People")
    await expect(people.get_by_role("rowheader")).to_have_count(50)
    await root.button("People: Show more").click()
    await expect(people.get_by_role("rowheader")).to_have_count(100)
    assert await violations_in_both(root) == []

    await root.page.get_by_label("People: Find by name").fill("PERSON127@")
    await expect(people.get_by_role("rowheader")).to_have_count(1)
    await root.button("Disable Person 127").click()
    await root.page.get_by_role("dialog").get_by_role("button", name="Disable").click()
    await expect(root.button("Enable Person 127")).to_be_visible()
    await root.page.get_by_label("People: Find by name").fill("no such person")
    await expect(root.page.get_by_text("Nothing found.")).to_be_visible()

    await root.page.get_by_label("Usage and limits: Find by name").fill("team-000099")
    await root.button("Limits of team-000099").click()
    await root.page.get_by_label("Answers at once").fill("3")
    await root.button("Save").click()
    await expect(root.page.get_by_role("dialog")).to_have_count(0)
    await root.button("Limits of team-000099").click()
    await expect(root.page.get_by_label("Answers at once")).to_have_value("3")
