"""Threads for the long work of tenants."""

import asyncio
import threading

import pytest

from app.tenants.tenant_threads import TenantThreads


async def test_one_tenant_leaves_a_thread_to_others() -> None:
    threads, go = TenantThreads(), threading.Event()
    busy = [asyncio.create_task(threads.run("busy", lambda: go.wait(30))) for _ in range(8)]
    await asyncio.sleep(0)
    try:
        assert await asyncio.wait_for(threads.run("quiet", lambda: "done"), 20) == "done"
        assert not any(task.done() for task in busy)
    finally:
        go.set()
    assert all(await asyncio.gather(*busy))
    threads.close()


async def test_work_of_a_cancelled_call_keeps_its_place() -> None:
    threads, go, began = TenantThreads(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        assert go.wait(30)

    first = asyncio.create_task(threads.run("one", work))
    await asyncio.to_thread(began.wait, 30)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    second = asyncio.create_task(threads.run("one", lambda: "next"))
    # Another tenant's work passes, and the second call of this one does not.
    assert await threads.run("two", lambda: "passed") == "passed"
    assert not second.done()
    go.set()
    assert await second == "next"
    threads.close()


async def test_error_of_the_work_reaches_its_caller() -> None:
    threads = TenantThreads()
    with pytest.raises(ZeroDivisionError):
        await threads.run("one", lambda: 1 // 0)
    assert await threads.run("one", lambda: "next") == "next"
    threads.close()


async def test_work_that_fails_frees_its_objects_in_its_thread() -> None:
    threads, freed_in = TenantThreads(), list[str]()

    class Held:
        def __del__(self) -> None:
            freed_in.append(threading.current_thread().name)

    def work() -> None:
        held = Held()
        raise ValueError(id(held))

    with pytest.raises(ValueError, match=r"\d+"):
        await threads.run("one", work)
    [name] = freed_in
    assert name.startswith("tenant")
    threads.close()
