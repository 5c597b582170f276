"""Fixtures of the services on an engine that needs no model.

A test module loads them with `pytest_plugins = ["tests.services_fixtures"]` and may override `engine`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.services import Services
from engine.testing.replay_engine import ReplayEngine


@pytest.fixture
async def engine() -> AsyncIterator[ReplayEngine]:
    """Run a fake engine for one test."""
    engine = ReplayEngine()
    await engine.start()
    yield engine
    await engine.stop(0)


@pytest.fixture
async def services(tmp_path: Path, engine: ReplayEngine) -> AsyncIterator[Services]:
    """Open the services on `engine`, with conversations in `tmp_path`."""
    host = EngineHost()
    host.ready(engine, "identity")
    services = await open_services(tmp_path / "conversations.db", host)
    yield services
    await engine.stop(0)
    await services.close()
