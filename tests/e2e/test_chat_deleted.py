"""Recently deleted chats: found after the notice is gone, restored, and deleted for good."""

from playwright.async_api import expect

from tests.e2e.chat_page import ChatPage
from tests.e2e.showcase import long_chat
from tests.sizes import PAGE


async def open_deleted(chat: ChatPage) -> None:
    await chat.open_menu_item("Recently deleted")
    await expect(chat.page.get_by_role("dialog", name="Recently deleted")).to_be_visible()


@PAGE
async def test_deleted_chat_is_restored_later_with_its_messages(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Wanted again")
    await chat.send("Remember the capstan.")
    await chat.expect_status("incomplete")
    await chat.choose("Wanted again", "Delete")
    await chat.button("Delete").click()
    await expect(chat.chats.get_by_text("Wanted again", exact=True)).to_have_count(0)
    await chat.page.reload()

    await open_deleted(chat)
    await expect(chat.page.get_by_role("dialog").get_by_text("30 days left").first).to_be_visible()
    await chat.button("Restore “Wanted again”").click()

    await expect(chat.button("Restore “Wanted again”")).to_have_count(0)
    await chat.page.keyboard.press("Escape")
    await chat.chats.get_by_text("Wanted again", exact=True).click()
    await expect(chat.questions).to_have_text("Remember the capstan.")
    assert (await chat.stored(conversation))["title"] == "Wanted again"


@PAGE
async def test_chat_deleted_for_good_cannot_be_restored(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Erased")
    await chat.page.request.delete(f"/api/conversations/{conversation}")
    await open_deleted(chat)
    await chat.button("Delete for good: “Erased”").click()
    await chat.button("Cancel").click()
    await expect(chat.button("Restore “Erased”")).to_be_visible()

    await chat.button("Delete for good: “Erased”").click()
    await chat.button("Delete for good").last.click()

    await expect(chat.button("Restore “Erased”")).to_have_count(0)
    assert (await chat.page.request.post(f"/api/conversations/{conversation}/restore")).status == 404


@PAGE
async def test_all_chats_can_be_deleted_and_found_again(chat: ChatPage) -> None:
    kept = [await chat.new_chat(tokens=1, title=f"One of all {number}") for number in range(2)]
    await chat.page.goto("/")
    await expect(chat.chats.get_by_text("One of all 1", exact=True)).to_be_visible()
    await chat.open_menu_item("Delete all chats…")
    await chat.button("Delete all").click()

    await expect(chat.chats).to_have_count(0)
    await chat.button("Undo").click()
    for number in range(2):
        await expect(chat.chats.get_by_text(f"One of all {number}", exact=True)).to_be_attached()

    for conversation in kept:
        await chat.page.request.delete(f"/api/conversations/{conversation}")
    await open_deleted(chat)
    await chat.button("Restore all").click()
    await expect(chat.page.get_by_text("No recently deleted chats.")).to_be_visible()
    for conversation in kept:
        await chat.stored(conversation)


@PAGE
async def test_several_deleted_chats_are_restored_at_once(chat: ChatPage) -> None:
    several = [await chat.new_chat(tokens=1, title=f"One of several {number}") for number in range(3)]
    for conversation in several:
        await chat.page.request.delete(f"/api/conversations/{conversation}")
    await chat.page.goto("/")
    await open_deleted(chat)
    for number in (0, 2):
        await chat.page.get_by_role("checkbox", name=f"Select One of several {number}").check()
    dialog = chat.page.get_by_role("dialog", name="Recently deleted")
    await expect(dialog.get_by_text("2 selected")).to_be_visible()
    await dialog.get_by_role("button", name="Restore", exact=True).click()

    await expect(chat.button("Restore “One of several 0”")).to_have_count(0)
    await expect(chat.button("Restore “One of several 1”")).to_be_visible()
    await expect(chat.button("Restore all")).to_be_visible()
    for number in (0, 2):
        await chat.stored(several[number])
        await expect(chat.chats.get_by_text(f"One of several {number}", exact=True)).to_be_attached()


@PAGE
async def test_deleted_message_is_restored_after_its_notice_is_gone(chat: ChatPage) -> None:
    conversation = await chat.open_new_chat(tokens=1, title="Still here")
    await chat.send("Remember the anchor.")
    await chat.expect_status("incomplete")
    [question, _] = (await chat.stored(conversation))["messages"]
    await chat.page.request.delete(f"/api/messages/{question['id']}")
    await chat.page.reload()
    await expect(chat.questions).to_have_count(0)

    await open_deleted(chat)
    await expect(chat.page.get_by_role("dialog").get_by_text("30 days left · Still here")).to_be_visible()
    await chat.button("Restore “Remember the anchor.”").click()

    await expect(chat.button("Restore “Remember the anchor.”")).to_have_count(0)
    await chat.page.keyboard.press("Escape")
    await expect(chat.questions).to_have_text("Remember the anchor.")

    await chat.page.request.delete(f"/api/messages/{question['id']}")
    await open_deleted(chat)
    await chat.button("Delete for good: “Remember the anchor.”").click()
    await chat.button("Delete for good").last.click()
    await expect(chat.button("Restore “Remember the anchor.”")).to_have_count(0)
    assert (await chat.page.request.post(f"/api/messages/{question['id']}/restore")).status == 404


@PAGE
async def test_one_turn_is_deleted_alone_with_undo(chat: ChatPage) -> None:
    await chat.open_imported(long_chat("Three turns", 6))
    whole = [f"Message **{number}** of the log." for number in (0, 2, 4)]
    await expect(chat.questions).to_have_text(whole)
    menu = chat.page.get_by_role("menuitem")
    last = chat.answers.nth(2).get_by_role("button", name="More actions for this answer")
    await last.click()
    await expect(menu.last).to_have_text("Delete this answer")
    await chat.page.keyboard.press("Escape")

    await chat.answers.nth(1).get_by_role("button", name="More actions for this answer").click()
    await expect(menu.last).to_have_text("Delete this and everything after")
    await menu.get_by_text("Delete this question and its answer").click()

    await expect(chat.questions).to_have_text([whole[0], whole[2]])
    await expect(chat.page.get_by_text("The question and its answer were deleted.")).to_be_visible()
    await chat.button("Undo").click()
    await expect(chat.questions).to_have_text(whole)
    await expect(chat.page.get_by_text("Version 1 of")).to_have_count(0)
