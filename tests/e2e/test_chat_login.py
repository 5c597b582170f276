"""A server with keys: a user logs in, chats, stays logged in, and logs out. A fake engine generates the answers."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from engine.testing.replay_engine import ReplayEngine
from tests.e2e.chat_page import ChatPage
from tests.e2e.conftest import STATIC
from tests.e2e.test_chat_accessibility import violations_in_both
from tests.integration.api_server import running_server
from tests.sizes import PAGE


async def test_user_logs_in_chats_and_logs_out(browser: Browser, tmp_path: Path) -> None:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    async with running_server(tmp_path, ReplayEngine(), static=STATIC) as server:
        made, key = await server.services.access.administration.create_key("alice", "alice", "user")
        context = await browser.new_context(base_url=server.url)
        chat = ChatPage(await context.new_page())
        field = chat.page.get_by_label("Key", exact=True)

        async def log_in(text: str) -> None:
            await field.fill(text)
            await chat.button("Log in").click()

        await chat.page.goto("/c/conv_none")
        await expect(field).to_be_focused()
        await expect(chat.page).to_have_title("Log in · Ebb")
        assert await violations_in_both(chat) == []
        await log_in("sk-ebb-wrong")
        await expect(chat.page.get_by_role("alert")).to_contain_text("Invalid or revoked key")
        await log_in(key)
        await expect(chat.page.get_by_text("There is no such chat or message.")).to_be_visible()
        await chat.page.goto("/")
        await chat.send("Hello.")
        await chat.expect_status("complete")
        assert await chat.page.evaluate("document.cookie") == "", "a script can read the login cookie"

        await chat.page.reload()
        await expect(chat.answers).to_have_count(1)
        await expect(chat.chats.first).to_have_text("Hello.")

        await expect(chat.page.get_by_role("link", name="Live")).to_have_count(0)
        await chat.page.keyboard.press("Control+Shift+L")
        await expect(chat.page.get_by_text("an admin key")).to_be_visible()
        await chat.page.go_back()
        await expect(chat.answers).to_have_count(1)

        stranger = ChatPage(await (await browser.new_context(base_url=server.url)).new_page())
        await stranger.page.goto(chat.page.url)
        await expect(stranger.button("Log in")).to_be_visible()
        await expect(stranger.answers).to_have_count(0)

        chooser = chat.page.get_by_label("Attach files").first
        await chooser.set_input_files({"name": "diary.txt", "mimeType": "text/plain", "buffer": b"Nobody else's."})
        await expect(chat.page.get_by_text("diary.txt")).to_be_visible()
        await chat.page.get_by_role("button", name="alice").click()
        await expect(chat.page.get_by_role("dialog", name="alice")).to_contain_text("Logged in with a key")
        await chat.button("Log out").click()
        await expect(field).to_be_focused()
        await expect(chat.chats).to_have_count(0)
        await log_in(key)
        await chat.chats.first.click()
        await expect(chat.answers).to_have_count(1)
        await expect(chat.page.get_by_text("diary.txt")).to_have_count(0)

        await server.services.access.administration.revoke_key(made.id)
        await chat.composer.fill("Anybody there?")
        await chat.composer.press("Enter")
        await expect(field).to_be_focused()
        for opened in browser.contexts:
            await opened.close()


@PAGE
async def test_first_key_is_offered_chats_from_before_it(browser: Browser, tmp_path: Path) -> None:
    if not (STATIC / "index.html").is_file():
        pytest.skip("The page is not built; run make setup")
    async with running_server(tmp_path, ReplayEngine(), static=STATIC) as server:
        context = await browser.new_context(base_url=server.url)
        chat = ChatPage(await context.new_page())
        await chat.new_chat(tokens=1, title="From before")
        _, key = await server.services.access.administration.create_key("alice", "alice", "user")
        await chat.page.goto("/")
        await chat.page.get_by_label("Key", exact=True).fill(key)
        await chat.button("Log in").click()
        await expect(chat.page.get_by_text("There are chats from before the first key.")).to_be_visible()
        await context.clear_cookies()
        _, key = await server.services.access.administration.create_key("root", "root", "admin")
        await chat.page.goto("/")
        await chat.page.get_by_label("Key", exact=True).fill(key)
        await chat.button("Log in").click()
        offer = chat.page.get_by_role("alert").filter(has_text="One chat from before the first key")
        await expect(offer.get_by_role("paragraph")).to_be_visible()
        assert await violations_in_both(chat) == []
        await offer.get_by_role("button", name="Take over").click()
        await expect(chat.page.get_by_text("One chat is yours now.")).to_be_visible()
        await expect(chat.chats).to_have_text(["From before"])
        await context.close()
