"""Conversation databases, intact and with a damaged page."""

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path

from app.storage.store import Store
from tests.unit.stored_chats import answered

PAGE = 4096


def stored_conversations(state_dir: Path) -> Path:
    """Create a database with five conversations in `state_dir`, closed cleanly. Return its path."""

    async def make() -> None:
        store = await Store.open(file)
        for number in range(5):
            await answered(store, await store.conversations.create({"title": f"Chat {number}"}), "one")
        await store.close()

    state_dir.mkdir(exist_ok=True)
    file = state_dir / "conversations.db"
    asyncio.run(make())
    return file


def damaged_conversations(state_dir: Path) -> Path:
    """Create the database of `stored_conversations` and overwrite the root page of its `message` table with noise."""
    file = stored_conversations(state_dir)
    with closing(sqlite3.connect(file)) as connection:
        [[root]] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message'")
    with file.open("r+b") as opened:
        opened.seek((root - 1) * PAGE)
        opened.write(random.Random(1).randbytes(PAGE))
    return file
