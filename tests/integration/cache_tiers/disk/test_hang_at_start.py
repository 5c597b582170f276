"""A disk that hangs when it is opened: the start continues without it, and the tier begins once it answers."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cache_tiers.disk import backend, tier
from cache_tiers.lower import async_tier
from engine.loop.async_llm import AsyncLLMEngine
from tests.disk_rig import Disk
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import engine_config
from tests.integration.real_server import serving, settled
from tests.waiting import until

TEXT = "Tell me about rivers, please. " * 20


class HangingFolder:
    """A folder whose opening hangs: a pipe in place of a lock waits until it has a writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pipe = path / "held"
        path.mkdir(parents=True)
        os.mkfifo(self._pipe)

    def answer(self) -> None:
        """Let the opening continue."""
        os.close(os.open(self._pipe, os.O_RDWR))


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HangingFolder]:
    """Provide such a folder, and let calls count as hanging after a moment."""
    for module in (backend, tier):
        monkeypatch.setattr(module, "HANG_SECONDS", 0.3)
    monkeypatch.setattr(backend, "DESCRIPTION", replace(backend.DESCRIPTION, hang_seconds=0.3))
    monkeypatch.setattr(async_tier, "_PATIENCE_SECONDS", 0.1)
    folder = HangingFolder(tmp_path / "state" / "kv")
    yield folder
    folder.answer()


def test_hanging_disk_is_used_once_it_answers(hanging: HangingFolder) -> None:
    disk = Disk(hanging.path)
    assert disk.tier.stats().state == "the disk does not answer"
    assert (disk.put(1), disk.load(1)) == ([False], [])
    hanging.answer()
    until(lambda: disk.tier.available)
    assert disk.put(1) == [True]
    assert disk.load(1) == [1]
    disk.close()


def test_tier_closes_while_its_disk_hangs(hanging: HangingFolder) -> None:
    disk = Disk(hanging.path)
    disk.close()
    assert disk.put(1) == [False]


def disk_state(engine: AsyncLLMEngine) -> str:
    store = engine.stats().tiers.store
    assert store is not None
    return store.lower["disk"].state


async def test_server_starts_and_answers_while_the_disk_hangs(
    shallow_model: Path, tmp_path: Path, hanging: HangingFolder, caplog: pytest.LogCaptureFixture
) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off", disk=True)
    async with serving(config, tmp_path) as (http, engine):
        chat = await created(http, params={"max_tokens": 2})
        assert (await said(http, chat, TEXT))["status"] == "incomplete"
        assert disk_state(engine).endswith("the disk does not answer")
        hanging.answer()
        await asyncio.to_thread(until, lambda: disk_state(engine) == "ok")
        await said(http, chat, TEXT)
        await settled(engine)
    assert f"{hanging.path} does not answer; the disk tier begins once it does" in caplog.text
    assert [path for path in hanging.path.rglob("*") if len(path.name) == 64]
