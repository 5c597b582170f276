"""Results of searches with conditions, whichever side the walk begins with."""

from dataclasses import replace

import pytest

from app.domain.folder import Folder
from app.storage import search_times, search_walk
from app.storage.search_filter import SearchFilter
from app.storage.store import Store
from tests.unit.stored_chats import imported

CHATS = 12
MESSAGES = 10


async def filled(store: Store) -> list[dict[str, object]]:
    """Add chats of which some are archived, tagged, in a folder or deleted. Return what each message meets."""
    await store.folders.add(folder := Folder("folder_1", "Sea"))
    rows = list[dict[str, object]]()
    for number in range(CHATS):
        texts = [f"the tide {number} {index}" if index % 5 else "a storm" for index in range(MESSAGES)]
        made = imported(f"conv_{number}", texts, title=f"tide {number}")
        tags, archived = ("calm",) if number % 4 == 0 else (), number % 3 == 0
        made = replace(made, conversation=replace(made.conversation, tags=tags, archived=archived))
        await store.imports.add([made], duplicates=False)
        if inside := number in (2, 5):
            await store.conversations.change(made.conversation.id, {"folder_id": folder.id})
        if is_deleted := number == 8:
            await store.deletions.hide_conversation(made.conversation.id)
        for message in made.messages:
            if "tide" in message.content and not is_deleted:
                rows.append({"id": message.id, "at": message.created_at, "role": message.role, "tags": tags})
                rows[-1] |= {"archived": archived, "folder": folder.id if inside else None}
    return rows[::-1]


def meets(row: dict[str, object], within: SearchFilter) -> bool:
    at = row["at"]
    assert isinstance(at, float)
    assert isinstance(row["tags"], tuple)
    return (
        within.role in (None, row["role"])
        and (within.since is None or at >= within.since)
        and (within.until is None or at < within.until)
        and within.folder_id in (None, row["folder"])
        and (within.tag is None or within.tag in row["tags"])
        and within.archived in (None, row["archived"])
    )


@pytest.mark.parametrize("many", [1, 10, 1000])
@pytest.mark.parametrize("cost", [1, 4])
async def test_search_finds_same_from_either_side(
    store: Store, monkeypatch: pytest.MonkeyPatch, many: int, cost: int
) -> None:
    for name, value in (("FIRST", 1), ("MANY", many), ("COST", cost), ("TESTED", 7)):
        monkeypatch.setattr(search_walk, name, value)
    monkeypatch.setattr(search_times, "BLOCK", 4)
    monkeypatch.setattr(search_times, "BRIDGED", many)
    rows = await filled(store)
    while await store.upkeep.note_times():
        pass
    [folder] = await store.folders.all()
    for within in (
        SearchFilter(),
        SearchFilter(tag="calm"),
        SearchFilter(tag="none"),
        SearchFilter(archived=True),
        SearchFilter(archived=False, role="user"),
        SearchFilter(folder_id=folder.id),
        SearchFilter(folder_id=folder.id, since=3.0, until=8.0),
        SearchFilter(tag="calm", archived=True, role="assistant"),
        SearchFilter(since=7.0),
        SearchFilter(until=2.0),
        SearchFilter(since=3.0, until=4.0),
        SearchFilter(since=50.0),
    ):
        expected = [row["id"] for row in rows if meets(row, within)]
        for limit in (1, 3, 50):
            first = await store.search.messages("tide", limit=limit, within=within)
            assert [each.id for each in first] == expected[:limit], (within, limit)
            if first:
                after = await store.search.messages("tide", limit=limit, within=within, before=first[-1].number)
                assert [each.id for each in after] == expected[len(first) : len(first) + limit], (within, limit)
    titles = await store.search.titles("tide", limit=5, within=SearchFilter(archived=True))
    assert [each.title for each in titles] == [f"tide {number}" for number in (9, 6, 3, 0)]
    assert await store.search.titles("tide", limit=5, within=SearchFilter(tag="none")) == []
