"""Turns of logins on threads of their own."""

import asyncio
import threading

import pytest

from app.accounts.login_turns import MAX_WAITING, LoginTurns
from engine.errors import OverloadedError


async def test_cancelled_login_keeps_its_turn_until_it_ends() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    began = threading.Event()

    def slow() -> None:
        began.set()
        assert go.wait(30)

    first = asyncio.create_task(turns.run(slow))
    await asyncio.to_thread(began.wait, 30)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(turns.run(go.is_set))
    await asyncio.sleep(0)
    go.set()
    assert await second is True


async def test_logins_compute_while_other_threads_are_busy() -> None:
    go = threading.Event()
    # More than the default executor has threads.
    others = [asyncio.create_task(asyncio.to_thread(go.wait, 30)) for _ in range(64)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(LoginTurns(at_once=1).run(lambda: "in"), 20) == "in"
    finally:
        go.set()
        await asyncio.gather(*others)


async def test_login_beyond_the_line_is_refused() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    waiting = [asyncio.create_task(turns.run(lambda: go.wait(30))) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await turns.run(lambda: None)
    go.set()
    assert all(await asyncio.gather(*waiting))
