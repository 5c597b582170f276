from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.storage.store import Store
from tests.on_postgres import url_of
from tests.postgres.server import Server, server


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Open the store of a new database."""
    store = await Store.open_postgres(url_of(tmp_path))
    yield store
    await store.close()


@pytest.fixture
async def first(tmp_path: Path) -> AsyncIterator[Server]:
    async with server(tmp_path, "first") as made:
        yield made


@pytest.fixture
async def second(tmp_path: Path, first: Server) -> AsyncIterator[Server]:
    async with server(tmp_path, "second") as made:
        yield made
