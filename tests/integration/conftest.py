"""A server with an engine that needs no model, and a client of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import torch

from models.layers.linear import can_prepack
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.unit.fake_engine import FakeEngine

# oneDNN packs bfloat16 weights for some CPUs only. What happens on others is in test_without_native_step.py.
collect_ignore = [] if can_prepack(torch.bfloat16) else ["test_prepacked.py"]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[RunningServer[FakeEngine]]:
    """The server."""
    async with running_server(tmp_path, FakeEngine()) as server:
        yield server


@pytest.fixture
async def http(api: RunningServer[FakeEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of `api`; paths count from its root."""
    async with api_client(api.url) as session:
        yield session
