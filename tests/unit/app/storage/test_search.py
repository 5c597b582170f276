"""Full-text search in the store, on a real SQLite file with its real FTS5."""

import sqlite3
from pathlib import Path

import pytest

from app.storage.run_records import MessageEnd
from app.storage.store import Store
from tests.unit.stored_chats import answered, turn


async def said(store: Store, *contents: str) -> str:
    """Create a conversation with these questions, and return its id."""
    conversation = await store.conversations.create({"title": "Untold"})
    last = None
    for content in contents:
        _, last = await answered(store, conversation, content, last)
    return conversation.id


async def found(store: Store, query: str, *, limit: int = 20) -> list[str]:
    """Return the texts of the found snippets, newest first."""
    return [each.snippet.text for each in await store.search.messages(query, limit=limit)]


async def test_all_words_must_occur_in_any_order_and_case(store: Store) -> None:
    await said(store, "The high tide comes at noon", "Low tide", "Noon is high")
    assert await found(store, "tide HIGH ") == ["The high tide comes at noon"]
    assert await found(store, "tide") == ["Low tide", "The high tide comes at noon"]
    assert await found(store, "storm") == []


async def test_last_word_may_be_a_prefix(store: Store) -> None:
    await said(store, "lighthouse keeper")
    assert await found(store, "lighth") == ["lighthouse keeper"]
    assert await found(store, "keeper lighth") == ["lighthouse keeper"]
    assert await found(store, "lighth ") == []
    assert await found(store, "light keeper") == []


async def test_accents_are_ignored(store: Store) -> None:
    await said(store, "Crème brûlée")
    assert await found(store, "creme brulee") == ["Crème brûlée"]
    assert await found(store, "crème") == ["Crème brûlée"]


@pytest.mark.parametrize("query", ["東京", "京都", "の天", "東京の天気", "天気", "気", "天気 東京"])
async def test_unspaced_scripts_are_found_inside_sentences(store: Store, query: str) -> None:
    await said(store, "明日の東京の天気は晴れ、京都は雨", "北京的天空")
    assert await found(store, query) == ["明日の東京の天気は晴れ、京都は雨"]


@pytest.mark.parametrize("query", ["한국", "국의", "바다"])
async def test_korean_words_are_found_without_their_particles(store: Store, query: str) -> None:
    await said(store, "한국의 바다에서")
    assert await found(store, query) == ["한국의 바다에서"]


async def test_matches_are_ranges_of_the_snippet(store: Store) -> None:
    await said(store, "x " * 100 + "the lighthouse at the end of the world" + " y" * 100)
    [hit] = await store.search.messages("lighthouse world", limit=5)
    assert hit.snippet.text.startswith("…")
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.matches] == ["lighthouse", "world"]


@pytest.mark.parametrize(
    "query",
    [
        *('"', '""', 'a"b', "'", "';--", "%", "_", "AND", "OR tide", "NOT tide", "NEAR(tide, 2)", "content:tide"),
        *("{title}: tide", "tide*", "^tide", "(", ")", "tide)", "+", "-tide", "tide--", "\0", "tide\0", "\ufdd0", "😀"),
        "a " * 128,
    ],
)
async def test_no_query_breaks_the_syntax(store: Store, query: str) -> None:
    await said(store, "tide")
    await store.search.messages(query, limit=5)
    await store.search.titles(query, limit=5)


async def test_query_keywords_are_searched_as_words(store: Store) -> None:
    await said(store, "black or white", "black", "NEAR the sea")
    assert await found(store, "black OR white") == ["black or white"]
    assert await found(store, "near sea") == ["NEAR the sea"]


async def test_titles_are_found_and_follow_changes(store: Store) -> None:
    made = await store.conversations.create({"title": "Tides of the sea"})
    await store.conversations.create({"title": "The sea"})
    assert [each.title for each in await store.search.titles("sea", limit=5)] == ["The sea", "Tides of the sea"]
    assert [each.id for each in await store.search.titles("tide", limit=5)] == [made.id]
    await store.conversations.change(made.id, {"title": "Mountains"})
    assert await store.search.titles("tide", limit=5) == []
    assert [each.id for each in await store.search.titles("mountains", limit=5)] == [made.id]
    await store.conversations.change(made.id, {"title": None})
    assert await store.search.titles("mountains", limit=5) == []
    assert await store.search.messages("sea", limit=5) == [], "a search of messages must not match titles"


async def test_answer_is_found_once_it_has_ended(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    assert await found(store, "tide") == []
    await store.runs.finish(
        MessageEnd(content="a whole tide", status="complete", finish_reason="stop", token_ids=b"").of(answer)
    )
    assert await found(store, "tide") == ["a whole tide"]


async def test_deleted_messages_are_not_found_until_restored(store: Store) -> None:
    conversation = await store.conversations.create({"title": "Tidal"})
    question, _ = await answered(store, conversation, "tide")
    await store.deletions.hide_message(question.id)
    assert await found(store, "tide") == []
    await store.deletions.show_message(question.id)
    assert await found(store, "tide") == ["tide"]
    await store.deletions.hide_conversation(conversation.id)
    assert await found(store, "tide") == []
    assert await store.search.titles("tidal", limit=5) == []
    await store.deletions.show_conversation(conversation.id)
    assert await found(store, "tide") == ["tide"]
    assert len(await store.search.titles("tidal", limit=5)) == 1


async def test_pages_of_results_follow_each_other(store: Store) -> None:
    await said(store, *(f"tide {index}" for index in range(5)))
    first = await store.search.messages("tide", limit=3)
    second = await store.search.messages("tide", limit=3, before=first[-1].number)
    assert [each.snippet.text for each in (*first, *second)] == [f"tide {index}" for index in reversed(range(5))]


@pytest.mark.sqlite_file
async def test_index_matches_tables_after_changes_and_vacuum(store: Store, path: Path) -> None:
    one, other = await said(store, "tide", "日本"), await said(store, "storm")
    await store.conversations.change(one, {"title": "Tides"})
    fork = await store.tree.fork(one, (await store.conversations.get(one)).head_id or "")
    await store.deletions.remove_conversation(other)
    await store.deletions.hide_message(fork.head_id or "")
    await store.deletions.remove_oldest(1e12)
    await store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("VACUUM")
        connection.execute("INSERT INTO search_words(search_words) VALUES('integrity-check')")
        numbers = "SELECT number FROM searchable EXCEPT SELECT rowid FROM search_words"
        assert connection.execute(numbers).fetchall() == []
        [indexed, messages, titles] = [
            connection.execute(f"SELECT count(*) FROM {what}").fetchone()[0]
            for what in ("search_words", "message", "conversation WHERE title IS NOT NULL")
        ]
        assert indexed == messages + titles == 4 + 3 + 2
    connection.close()
    reopened = await Store.open(path)
    assert len(await found(reopened, "tide")) == 2
    await reopened.close()
