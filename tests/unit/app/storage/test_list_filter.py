"""The lists of conversations: what each has, its pages by offset, and the index that it is read from."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from app.domain.folder import Folder
from app.storage.connection import DatabaseConnection, Parameters
from app.storage.list_filter import CHATS, TOP, ListFilter
from app.storage.store import Store

SEA = "folder_sea"
BAY = "folder_bay"


@dataclass(frozen=True)
class Lists:
    """A store with chats, and the ids of the chats by their titles."""

    store: Store
    ids: dict[str, str]

    async def titles(self, wanted: ListFilter, *, limit: int = 100, offset: int | None = None) -> list[str | None]:
        page = await self.store.conversations.page(wanted, limit=limit, offset=offset)
        return [each.title for each in page.conversations]


@pytest.fixture
async def lists(tmp_path: Path) -> AsyncIterator[Lists]:
    store = await Store.open(tmp_path / "conversations.db")
    await store.folders.add(Folder(SEA, "Sea", None, None))
    await store.folders.add(Folder(BAY, "Bay", SEA, None))
    chats: dict[str, dict[str, Any]] = {
        "free": {},
        "tagged": {"tags": ("tide", "moon")},
        "filed": {"folder_id": SEA, "tags": ("tide",)},
        "pinned": {"folder_id": SEA, "pinned": True},
        "inner": {"folder_id": BAY},
        "archived": {"archived": True, "folder_id": SEA, "tags": ("old",)},
        "secret": {"temporary": True},
        "deleted": {"folder_id": SEA, "tags": ("gone",)},
    }
    ids = {title: (await store.conversations.create({"title": title, **fields})).id for title, fields in chats.items()}
    await store.deletions.hide_conversation(ids["deleted"])
    yield Lists(store, ids)
    await store.close()


async def test_each_list_has_its_chats_pinned_first_then_newest(lists: Lists) -> None:
    for wanted, expected in (
        (CHATS, ["pinned", "inner", "filed", "tagged", "free"]),
        (ListFilter(shown_in=TOP), ["pinned", "tagged", "free"]),
        (ListFilter(shown_in=SEA), ["pinned", "filed"]),
        (ListFilter(folder_id=SEA), ["pinned", "inner", "filed"]),
        (ListFilter(shown_in="folder_none"), []),
        (ListFilter(tag="tide"), ["filed", "tagged"]),
        (ListFilter(tag="gone"), []),
        (ListFilter(archived=True), ["archived"]),
        (ListFilter(archived=True, shown_in=SEA), ["archived"]),
        (ListFilter(archived=True, shown_in=TOP), []),
        (ListFilter(pinned=True), ["pinned"]),
        (ListFilter(pinned=False, shown_in=SEA), ["filed"]),
    ):
        assert await lists.titles(wanted) == expected, wanted


async def test_page_at_offset_has_total_of_whole_list(lists: Lists) -> None:
    pages = [await lists.store.conversations.page(CHATS, limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [[each.title for each in page.conversations] for page in pages] == [
        ["pinned", "inner"],
        ["filed", "tagged"],
        ["free"],
        [],
    ]
    assert [page.total for page in pages] == [5] * 4
    following = await lists.store.conversations.page(CHATS, limit=2, after=pages[0].following)
    assert (following.conversations, following.total) == (pages[1].conversations, None)


async def test_contents_count_folders_and_name_tags(lists: Lists) -> None:
    contents = await lists.store.folders.contents()
    assert (contents.counts, contents.tags) == ({SEA: 2, BAY: 1}, ["moon", "tide"])


@pytest.mark.sqlite_file
@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (CHATS, "conversation_list"),
        (ListFilter(archived=True), "conversation_list"),
        (ListFilter(shown_in=TOP), "conversation_at_top"),
        (ListFilter(shown_in=SEA), "conversation_of_folder"),
        (ListFilter(tag="tide"), "conversation_tagged"),
    ],
)
async def test_list_is_read_in_its_order_from_its_index(lists: Lists, wanted: ListFilter, index: str) -> None:
    listed, values = wanted.of(lists.store.tenant, lists.store.database.dialect)
    ordered = f"SELECT * {listed} ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT 100"
    found = "\n".join(await plan(lists.store, ordered, values))
    assert re.findall(r"conversation_\w+", found) == [index]
    assert "TEMP B-TREE" not in found
    if wanted.tag is None:
        [counted] = await plan(lists.store, f"SELECT count(*) {listed}", values)
        assert f"COVERING INDEX {index}" in counted


async def plan(store: Store, sql: str, values: Parameters) -> list[str]:
    """Return the steps by which SQLite runs a statement."""

    def explain(connection: DatabaseConnection) -> list[str]:
        return [row["detail"] for row in connection.fetch_all(f"EXPLAIN QUERY PLAN {sql}", values)]

    return await store.database.read_together(explain)
