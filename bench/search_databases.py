"""`python -m bench.search_databases`: searches and writes in bulk on SQLite and on PostgreSQL, with the same chats.

    scripts/with-postgres .venv/bin/python -m bench.search_databases [--conversations 20000]

One tenant has conversations of 8 messages, of 12 and of 40 words in turn, and others have a quarter as many. They are
written to an SQLite file, and `ebb migrate` copies the file. Searches run on both databases in turn, as a request runs
them: titles, messages, and spellings if nothing is found. Takes ten minutes.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.domain.ids import new_id
from app.domain.records import Conversation, Message, Role
from app.storage.imports import Imported
from app.storage.postgres.copying import FileCopy
from app.storage.postgres.database import PostgresDatabase
from app.storage.search_filter import ANYTHING, SearchFilter
from app.storage.store import Store
from bench.conversation_store import Words
from bench.stats import median

MESSAGES: Final = 8
BATCH: Final = 200
OTHERS: Final = 4
"""Tenants, each with a sixteenth as many conversations as the one that searches."""
CHINESE: Final = 50
"""One conversation in so many is in Chinese characters."""
WRITTEN: Final = 400
"""Conversations of a write in bulk."""
MOST_RATIO: Final = 3.0
"""Maximum time of a search on PostgreSQL, as a multiple of that on SQLite."""
LEAST_MS: Final = 50.0
"""Time of a search that is short enough, whatever the ratio."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search to compare."""

    name: str
    query: str
    within: SearchFilter = ANYTHING


class Texts(Words):
    """Source of conversations, the same for the same seed."""

    def conversation(self, number: int) -> Imported:
        """Make a conversation."""
        conversation_id, messages = new_id("conv"), list[Message]()
        for index in range(MESSAGES):
            text = self._text(40 if index % 2 else 12, is_chinese=number % CHINESE == 0)
            above = messages[-1].id if messages else None
            role: Role = "assistant" if index % 2 else "user"
            messages.append(
                Message(
                    id=new_id("msg"),
                    conversation_id=conversation_id,
                    parent_id=above,
                    role=role,
                    content=text,
                    status="complete",
                    created_at=float(number),
                )
            )
        title = self._text(6, is_chinese=False)
        made = Conversation(
            id=conversation_id,
            title=title,
            head_id=messages[-1].id,
            system_prompt=None,
            params={},
            created_at=number,
            updated_at=number,
            title_source="model",
        )
        return Imported(conversation_id, made, messages)

    def _text(self, words: int, *, is_chinese: bool) -> str:
        if is_chinese:
            return "".join(chr(0x4E00 + int(self._random.paretovariate(0.7)) % 3000) for _ in range(words))
        return " ".join(self._random.choices(self.all, cum_weights=self._weights, k=words))


def searches(words: Words) -> list[Search]:
    """Return the searches to compare."""
    common, rare, rarer = words.all[0], words.all[2000], words.all[15_000]
    long = next(word for word in words.all[5000:] if len(word) == 9)
    return [
        Search("a word of most messages", common),
        Search("a word of some hundred messages", f"{rare} "),
        Search("a word of few messages", f"{rarer} "),
        Search("common and rare", f"{common} {rarer} "),
        Search("four common words", " ".join(words.all[:4])),
        Search("two common words that touch", f"{words.all[3]}-{words.all[4]}"),
        Search("two letters of a word", common[:2]),
        Search("two Chinese characters", "\u4e01\u4e02"),
        Search("a misspelt word", long[:4] + long[5:]),
        Search("a word of no message", "xyzzyqk"),
        Search("half a word of no message", "xyzzy"),
        Search("common, of the user", common, SearchFilter(role="user")),
        Search("common, in no message with a tag", common, SearchFilter(tag="none")),
        Search("common, in no message of the archive", common, SearchFilter(archived=True)),
        Search("common, in the oldest messages", common, SearchFilter(until=5.0)),
    ]


async def searched(store: Store, search: Search) -> int:
    """Search as a request does, and return the number of results."""

    async def find(query: str) -> int:
        messages = await store.search.messages(query, limit=21, within=search.within)
        return len(messages) + len(await store.search.titles(query, limit=20, within=search.within))

    found = await find(search.query)
    if not found:
        for query in await store.search.corrections(search.query):
            found = await find(query)
            if found:
                break
    return found


async def compare(folder: Path, url: str, conversations: int, rounds: int) -> bool:
    """Fill both databases, and print the table. Return whether all targets are met."""
    texts, path = Texts(1), folder / "conversations.db"
    file = await Store.open(path)
    await _fill(file, texts, conversations)
    await file.upkeep.index_all()
    await file.close()
    await _timed("ebb migrate", lambda: _copy(path, url))
    file, server = await Store.open(path), await Store.open_postgres(url)
    try:
        for store in (file, server):
            while await store.upkeep.note_times():
                pass
        print(f"{'milliseconds, median':36} {'SQLite':>8} {'PostgreSQL':>10} {'ratio':>6} {'found':>6}")
        are_met = [await _compared(file, server, each, rounds) for each in searches(texts)]
        for name, store in (("SQLite", file), ("PostgreSQL", server)):
            print(name)
            await _write_in_bulk(store, texts, conversations)
    finally:
        await file.close()
        await server.close()
    return all(are_met)


async def _fill(store: Store, texts: Texts, conversations: int) -> None:
    tenants = [store.tenant, *(f"tenant-{number}" for number in range(OTHERS))]
    for start in range(0, conversations, BATCH):
        for place, tenant in enumerate(tenants):
            given = [texts.conversation(start + index) for index in range(BATCH if not place else BATCH // 16)]
            await store.of(tenant).imports.add(given, duplicates=True)


async def _copy(path: Path, url: str) -> None:
    target = await PostgresDatabase.open(url, for_copy=True)
    try:
        await FileCopy(path, target).run(lambda _: None)
    finally:
        await target.close()


async def _compared(file: Store, server: Store, search: Search, rounds: int) -> bool:
    times: dict[str, list[float]] = {"file": [], "server": []}
    found = dict[str, int]()
    for _ in range(rounds):
        for name, store in (("file", file), ("server", server)):
            began = time.perf_counter()
            found[name] = await searched(store, search)
            times[name].append((time.perf_counter() - began) * 1e3)
    of_file, of_server = median(times["file"]), median(times["server"])
    is_met = of_server <= max(LEAST_MS, MOST_RATIO * of_file) and found["file"] == found["server"]
    late = "" if is_met else "  misses the target"
    print(
        f"{search.name:36} {of_file:8.1f} {of_server:10.1f} {of_server / of_file:6.1f} "
        f"{found['file']:3}/{found['server']:<3}{late}",
        flush=True,
    )
    return is_met


async def _write_in_bulk(store: Store, texts: Texts, number: int) -> None:
    given = [texts.conversation(number + index) for index in range(WRITTEN)]
    owner = store.of("bulk")
    await _timed(f"import {WRITTEN} conversations", lambda: owner.imports.add(given, duplicates=True))
    await _timed("delete all", lambda: owner.recently_deleted.hide_all("chat"))

    async def restore() -> None:
        for each in (await owner.recently_deleted.page(limit=100)).deleted:
            await owner.deletions.show_conversation(each.conversation.id)

    async def remove() -> None:
        await owner.recently_deleted.hide_all("chat")
        while deleted := (await owner.recently_deleted.page(limit=100)).deleted:
            for each in deleted:
                await owner.deletions.remove_conversation(each.conversation.id)

    await _timed("restore 100, one by one", restore)
    await _timed("remove all for good", remove)


async def _timed(name: str, work: Callable[[], Awaitable[object]]) -> None:
    began = time.perf_counter()
    await work()
    print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.search_databases", description=__doc__)
    parser.add_argument("--conversations", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ebb-search-") as folder:
        is_met = asyncio.run(
            compare(Path(folder), os.environ["TEST_DATABASE_URL"], chosen.conversations, chosen.rounds)
        )
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
