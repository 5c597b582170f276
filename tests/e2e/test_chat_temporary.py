"""Temporary chats: they are in no list, and can be kept or deleted."""

from playwright.async_api import expect

from tests.e2e.chat_page import CHAT_URL, ChatPage
from tests.e2e.test_chat_accessibility import ALL, violations
from tests.sizes import PAGE


async def begin(chat: ChatPage, question: str) -> None:
    await chat.page.goto("/")
    await chat.button("Temporary chat").click()
    await expect(chat.page.get_by_test_id("temporary")).to_contain_text("deleted 24 hours after")
    await chat.button("Chat settings").click()
    await chat.page.get_by_label("Token limit").fill("4")
    await chat.button("Save").click()
    await chat.send(question)
    await expect(chat.page).to_have_url(CHAT_URL)
    await chat.expect_status("incomplete")
    assert await violations(chat, ALL) == []


@PAGE
async def test_temporary_chat_is_listed_once_it_is_kept(chat: ChatPage) -> None:
    await begin(chat, "Name a lighthouse.")
    await expect(chat.chats.filter(has_text="Name a lighthouse.")).to_have_count(0)
    await chat.page.reload()
    await expect(chat.questions).to_have_text(["Name a lighthouse."])
    await chat.button("Keep this chat").click()
    await expect(chat.chats.filter(has_text="Name a lighthouse.")).to_have_count(1)
    await expect(chat.page.get_by_test_id("temporary")).to_have_count(0)
    await chat.page.reload()
    await expect(chat.chats.filter(has_text="Name a lighthouse.")).to_have_count(1)


@PAGE
async def test_temporary_chat_is_deleted_once_confirmed(chat: ChatPage) -> None:
    await begin(chat, "Name a bird.")
    conversation = chat.page.url.rpartition("/")[2]
    await chat.button("Delete now").click()
    assert await violations(chat, ALL) == []
    await chat.button("Cancel").click()
    await expect(chat.button("Delete now")).to_be_focused()
    await expect(chat.questions).to_have_text(["Name a bird."])
    await chat.stored(conversation)

    await chat.button("Delete now").click()
    await chat.button("Delete for good").click()
    await expect(chat.page.get_by_text("The temporary chat was deleted for good.")).to_be_visible()
    await expect(chat.page).not_to_have_url(CHAT_URL)
    response = await chat.page.request.get(f"/api/conversations/{conversation}")
    assert response.status == 404
    await expect(chat.button("Temporary chat")).to_have_attribute("aria-pressed", "false")
