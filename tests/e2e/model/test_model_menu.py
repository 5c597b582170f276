"""The menu of the models of a server that has several."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.conftest import default_cache_dir
from tests.e2e.chat_page import ANSWER_MS, ChatPage
from tests.e2e.server_process import ebb_serve
from tests.sizes import PAGE
from tests.tiny_encoders import tiny_encoder

pytestmark = PAGE


@pytest.fixture(scope="module")
def server(page_files: Path, shallow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the models ant and bee, which are one, and the encoder zoo, one of them in memory. Return the base URL."""
    folder = tmp_path_factory.mktemp("menu")
    models = folder / "models"
    models.mkdir()
    for name in ("ant", "bee"):
        (models / name).symlink_to(shallow_model)
    tiny_encoder(models / "zoo", "bert")
    table = ("--models-dir", str(models), "--models-max", "1", "--cache-dir", str(default_cache_dir()))
    memory = ("--kv-memory", "64MiB", "--redis-url", "off", "--disk-kv-size", "0")
    with ebb_serve(folder, *table, *memory) as url:
        yield url


def item(chat: ChatPage, name: str) -> Locator:
    return chat.page.get_by_role("menuitemradio", name=name, exact=True)


async def ask(chat: ChatPage, text: str) -> None:
    await chat.send(text)
    await expect(chat.answers.last).to_have_attribute("data-status", re.compile("complete"), timeout=ANSWER_MS)


async def test_chat_changes_to_another_model_and_shows_what_it_reads(chat: ChatPage) -> None:
    await chat.open_new_chat(tokens=4)
    await ask(chat, "Describe a harbour in the morning.")
    await expect(chat.answers.last.get_by_text("ant", exact=True)).to_be_visible()
    await chat.button("Model: ant").click()
    await expect(item(chat, "ant")).to_be_checked()
    await expect(item(chat, "ant")).to_contain_text("In memory")
    await expect(item(chat, "bee")).to_contain_text("Loaded when you ask it")
    await item(chat, "bee").click()
    await ask(chat, "And in the evening?")
    await expect(chat.answers.last.get_by_text("bee", exact=True)).to_be_visible()
    await chat.button("Model: bee").click()
    await expect(item(chat, "bee")).to_contain_text(re.compile("In memory · .* has read this chat|has to read"))
    await expect(item(chat, "ant")).to_contain_text("of this chat")


async def test_encoder_is_marked_and_cannot_be_chosen(chat: ChatPage) -> None:
    await chat.page.goto("/")
    await chat.button("Model: ant").click()
    await expect(item(chat, "zoo")).to_contain_text("embeds and ranks texts, and cannot answer")
    await expect(item(chat, "zoo")).to_be_disabled()
    await item(chat, "zoo").click(force=True)
    await expect(item(chat, "zoo")).to_be_visible()
    await item(chat, "zoo").press("Enter")
    await expect(item(chat, "ant")).to_be_checked()
    await expect(chat.button("Model: ant")).to_be_visible()
