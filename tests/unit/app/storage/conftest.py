"""A store in a separate file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.storage.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    store = await Store.open(path)
    yield store
    await store.close()
