"""Turns of logins on separate threads."""

import asyncio
import threading
from contextlib import suppress

import pytest
from starlette.requests import ClientDisconnect

from app.accounts.login_turns import MAX_WAITING, LoginLine, LoginTurns
from engine.api.errors import OverloadedError


async def test_cancelled_login_keeps_its_turn_until_it_ends() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    began = threading.Event()

    def slow() -> None:
        began.set()
        assert go.wait(30)

    first = asyncio.create_task(turns.run(LoginLine("a"), slow))
    await asyncio.to_thread(began.wait, 30)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(turns.run(LoginLine("a"), go.is_set))
    await asyncio.sleep(0)
    go.set()
    assert await second is True


async def test_logins_compute_while_other_threads_are_busy() -> None:
    go = threading.Event()
    # More than the default executor has threads.
    others = [asyncio.create_task(asyncio.to_thread(go.wait, 30)) for _ in range(64)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(LoginTurns(at_once=1).run(LoginLine("a"), lambda: "in"), 20) == "in"
    finally:
        go.set()
        await asyncio.gather(*others)


async def test_login_beyond_the_line_is_refused() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    waiting = [asyncio.create_task(turns.run(LoginLine("a"), lambda: go.wait(30))) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await turns.run(LoginLine("a"), lambda: None)
    go.set()
    assert all(await asyncio.gather(*waiting))


async def refused(login: "asyncio.Task[object]") -> bool:
    with suppress(OverloadedError):
        await login
        return False
    return True


async def test_login_from_elsewhere_takes_last_place_of_a_flood() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    order = list[str]()

    def log_in(line: str) -> "asyncio.Task[object]":
        def compute() -> None:
            assert go.wait(30)
            order.append(line)

        return asyncio.create_task(turns.run(LoginLine(line), compute))

    flood = [log_in("flood") for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    others = [log_in(line) for line in ("ada", "bob")]
    await asyncio.sleep(0)
    go.set()
    assert [await refused(each) for each in others] == [False, False]
    assert [await refused(each) for each in flood] == [False] * (MAX_WAITING - 2) + [True] * 2
    assert order[:4] == ["flood", "flood", "ada", "bob"], "lines take turns"
    assert await turns.run(LoginLine("ada"), lambda: "in") == "in"


async def test_places_are_shared_once_every_line_has_one() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    waiting = [asyncio.create_task(turns.run(LoginLine(str(each)), lambda: go.wait(30))) for each in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await turns.run(LoginLine("one more"), lambda: None)
    go.set()
    assert all(await asyncio.gather(*waiting))


async def test_cancelled_logins_leave_their_places() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    waiting = [asyncio.create_task(turns.run(LoginLine("a"), lambda: go.wait(30))) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    for each in waiting[1:]:
        each.cancel()
    await asyncio.wait(waiting[1:])
    last = asyncio.create_task(turns.run(LoginLine("a"), lambda: "in"))
    await asyncio.sleep(0)
    # The turn comes at the moment at which the login is cancelled.
    turns._places.free("a")
    last.cancel()
    go.set()
    assert await waiting[0]
    assert await turns.run(LoginLine("a"), lambda: "in") == "in"


async def test_login_whose_client_has_left_computes_nothing() -> None:
    turns, go = LoginTurns(at_once=1), threading.Event()
    computed = list[str]()

    def left() -> None:
        raise ClientDisconnect

    first = asyncio.create_task(turns.run(LoginLine("a"), lambda: go.wait(30)))
    await asyncio.sleep(0)
    gone = [asyncio.create_task(turns.run(LoginLine("a", left), lambda: computed.append("gone"))) for _ in range(3)]
    last = asyncio.create_task(turns.run(LoginLine("a"), lambda: "in"))
    await asyncio.sleep(0)
    go.set()
    assert await first
    for each in gone:
        with pytest.raises(ClientDisconnect):
            await each
    assert await last == "in"
    assert computed == []
