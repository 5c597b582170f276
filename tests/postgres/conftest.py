from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.postgres.server import Server, server


@pytest.fixture
async def first(tmp_path: Path) -> AsyncIterator[Server]:
    async with server(tmp_path, "first") as made:
        yield made


@pytest.fixture
async def second(tmp_path: Path, first: Server) -> AsyncIterator[Server]:
    async with server(tmp_path, "second") as made:
        yield made
