"""Checks of the accesses of many requests in progress: a change ends those that it concerns, in short turns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.types import Message

from app.access.key_ring import KeyRing
from app.access.requests_in_progress import SLICE, AccessWatch
from app.http.error_responses import UnauthorizedError
from app.storage.store import Store


class Door:
    """A rule about access that changes, and the number of requests that asked for it in one turn of the loop."""

    is_open = True
    asked = 0

    def refusal(self) -> UnauthorizedError | None:
        self.asked += 1
        return None if self.is_open else UnauthorizedError(was_shown=True)


@pytest.fixture
async def watch(tmp_path: Path) -> AsyncIterator[AccessWatch]:
    store = await Store.open(tmp_path / "conversations.db")
    yield AccessWatch(KeyRing(store.access, store.keys, store.people, "always"))
    await store.close()


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_change_ends_many_accesses_in_short_turns(watch: AccessWatch) -> None:
    door = Door()
    with ExitStack() as stack:
        accesses = [stack.enter_context(watch.watched(never, door.refusal)) for _ in range(3 * SLICE)]
        door.is_open = False
        watch.check()
        turns = 1
        while any(access.refusal is None for access in accesses):
            assert door.asked <= SLICE
            door.asked = 0
            await asyncio.sleep(0)
            turns += 1
    assert turns == 3


async def test_change_during_a_check_ends_accesses_that_were_looked_at(watch: AccessWatch) -> None:
    door = Door()
    with ExitStack() as stack:
        accesses = [stack.enter_context(watch.watched(never, door.refusal)) for _ in range(2 * SLICE)]
        watch.check()
        door.is_open = False
        watch.check()
        for _ in range(4):
            await asyncio.sleep(0)
        assert all(access.refusal is not None for access in accesses)
        door.asked = 0
        await asyncio.sleep(0)
        assert door.asked == 0, "a check must end"


async def test_access_that_ends_during_a_check_is_left_alone(watch: AccessWatch) -> None:
    door = Door()
    with ExitStack() as stack:
        first = stack.enter_context(watch.watched(never, door.refusal))
        with ExitStack() as others:
            for _ in range(SLICE):
                others.enter_context(watch.watched(never, door.refusal))
            watch.check()
        door.is_open = False
        watch.check()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert first.refusal is not None
