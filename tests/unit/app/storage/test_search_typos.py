"""Correction of mistyped words, with the words of one's own chats, in the store with its real full-text index."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.storage.search_words import spellings
from app.storage.store import Store
from tests.unit.stored_chats import answered


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def said(store: Store, content: str, title: str = "Untold") -> str:
    conversation = await store.conversations.create({"title": title})
    await answered(store, conversation, content, None)
    return conversation.id


@pytest.mark.parametrize(
    ("query", "corrections"),
    [
        ("harbuor", ["harbour"]),
        ("harour", ["harbour"]),
        ("harbbour", ["harbour"]),
        ("harbxur", ["harbour"]),
        ("Hrabour lights", ["harbour lights"]),
        ("Hrabour ligh", ["harbour ligh"]),
        ("hrabour lihgts", ["harbour lights"]),
        ("crème brulee harbuor", ["crème brulee harbour"]),
        ("прлив", ["прилив"]),
        ("breakwatre", ["breakwater"]),
        # Nothing is similar, too much differs, the word is too short, or all words are written so.
        ("zebra", []),
        ("hrabuor", []),
        ("teh", []),
        ("harbour lights", []),
        ("12345 潮汐 ???", []),
    ],
)
async def test_mistyped_words_are_replaced_with_written_ones(store: Store, query: str, corrections: list[str]) -> None:
    await said(store, "The harbour lights, the tide. Crème brûlée, прилив.", "Breakwater")
    assert await store.search.corrections(query) == corrections


async def test_words_of_others_and_of_deleted_chats_never_appear(store: Store) -> None:
    await said(store.of("other"), "lighthouse")
    removed = await said(store, "lighthouse")
    assert await store.search.corrections("lighthuose") == ["lighthouse"]
    await store.deletions.hide_conversation(removed)
    assert await store.search.corrections("lighthuose") == []
    assert await store.of("other").search.corrections("lighthuose") == ["lighthouse"]


async def test_likeliest_corrections_come_first_and_are_few(store: Store) -> None:
    await said(store, "bats boats oats beats boast brats")
    assert await store.search.corrections("baots") == ["boats", "bats"]
    assert len(await store.search.corrections("baats")) == 3


async def test_query_of_many_unknown_words_is_left(store: Store) -> None:
    await said(store, "harbour lights tide storm")
    assert await store.search.corrections("harbuor ligths tiide") == ["harbour lights tide"]
    assert await store.search.corrections("harbuor ligths tiide stomr") == []


def test_spellings_are_those_at_one_edit() -> None:
    assert len(spellings("tide")) == len(set(spellings("tide"))) == 3 + 4 + 4 * 25 + 5 * 26 - 4
    assert spellings("tide")[0] == "itde"
    assert "tide" not in spellings("tide")
    assert spellings("潮汐潮汐") == spellings("tide1") == spellings("aтide") == spellings("x" * 25) == []
