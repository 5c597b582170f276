"""Charges of clients at two servers whose database breaks, with engines without a model.

The use of a day is the sum of the usage in all answers, although it is saved many times a second.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp

from app.tenants.token_bucket import Use
from tests.faults_database.faults import FAULTS
from tests.faults_database.play import RECOVERY_SECONDS
from tests.faults_database.stage import TOPOLOGIES, Stage, stage

SOME: Final = ("backend killed", "sessions ended", "crash", "black hole", "COMMITs lost", "synchronous fail-over")
STORED: Final = "SELECT coalesce(sum(requests), 0), coalesce(sum(tokens), 0) FROM daily_use"
SAVE_SECONDS: Final = 0.1
LOAD_SECONDS: Final = 1.0


class Payer:
    """A client of one server. told: the sum of the usage in its answers."""

    def __init__(self, url: str, model: str) -> None:
        self.told = Use()
        self._url = url
        self._body = {"model": model, "prompt": "Count the waves.", "max_tokens": 8}

    async def live(self, over: asyncio.Event) -> None:
        """Request one completion after the other, which needs no database."""
        async with aiohttp.ClientSession(self._url) as session:
            while not over.is_set():
                async with session.post("/v1/completions", json=self._body) as response:
                    assert response.status == 200, await response.text()
                    self.told += Use(1, (await response.json())["usage"]["total_tokens"])


async def save(url: str) -> None:
    """Have a server save its use, as it does before it shows it to an administrator."""
    timeout = aiohttp.ClientTimeout(total=RECOVERY_SECONDS)
    with suppress(aiohttp.ClientError, TimeoutError):
        async with aiohttp.ClientSession(url, timeout=timeout) as session, session.get("/api/admin/tenants"):
            pass


async def save_often(url: str, over: asyncio.Event) -> None:
    while not over.is_set():
        await save(url)
        await asyncio.sleep(SAVE_SECONDS)


async def stored(stage: Stage) -> Use:
    """Return the use of all servers once each has tried to save it."""
    await asyncio.gather(*map(save, stage.urls()))
    [(requests, tokens)] = await asyncio.to_thread(stage.content().rows, STORED)
    return Use(int(str(requests)), int(str(tokens)))


async def settled(stage: Stage, expected: Use) -> Use:
    """Return the stored use once it is the expected one, or after RECOVERY_SECONDS."""
    deadline = time.monotonic() + RECOVERY_SECONDS
    while (found := await stored(stage)) != expected and time.monotonic() < deadline:
        pass
    return found


async def played(stage: Stage, name: str, payers: Sequence[Payer]) -> None:
    """Break the database while clients pay, and wait until all have their answers."""
    over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for payer, url in zip(payers, stage.urls(), strict=True):
            group.create_task(payer.live(over))
            group.create_task(save_often(url, over))
        await asyncio.sleep(LOAD_SECONDS)
        await FAULTS[name](stage)
        await asyncio.sleep(LOAD_SECONDS)
        over.set()


async def test_every_token_is_charged_once(tmp_path: Path) -> None:
    [two] = [each for each in TOPOLOGIES if each.name == "two servers"]
    async with stage(two, tmp_path) as made:
        before = await stored(made)
        async with aiohttp.ClientSession(made.urls()[0]) as session, session.get("/v1/models") as response:
            model = (await response.json())["data"][0]["id"]
        payers = [Payer(url, model) for url in made.urls()]
        for name in SOME:
            await played(made, name, payers)
            expected = sum((each.told for each in payers), before)
            assert await settled(made, expected) == expected, name
