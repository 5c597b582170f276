"""Threads whose tenants take turns."""

import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from app.tenants.fair_threads import KEPT_FREE, FairThreads

THREADS = 4


class Rig:
    """Threads, and work that waits for a signal."""

    def __init__(self, threads: int = THREADS) -> None:
        self.tenant = ""
        self.threads = FairThreads(lambda: self.tenant, threads)
        self.go = threading.Event()
        self.order = list[str]()

    def submit(self, tenant: str, work: Callable[[], object]) -> Future[object]:
        self.tenant = tenant
        return self.threads.submit(work)

    def block(self, tenant: str) -> Future[object]:
        return self.submit(tenant, lambda: self.go.wait(30))

    def note(self, tenant: str) -> Future[object]:
        return self.submit(tenant, lambda: self.order.append(tenant))


def test_one_tenant_leaves_threads_to_others() -> None:
    rig = Rig()
    busy = [rig.block("busy") for _ in range(50)]
    for _ in range(2 * KEPT_FREE):
        assert rig.submit("quiet", lambda: "done").result(20) == "done"
    assert not any(each.done() for each in busy)
    rig.go.set()
    assert all(each.result(20) for each in busy)


def test_waiting_tenants_take_turns() -> None:
    rig = Rig(threads=1)
    held = rig.block("a")
    waiting = [rig.note(tenant) for tenant in ("c", "c", "c", "d", "d", "e")]
    rig.go.set()
    for each in (held, *waiting):
        each.result(20)
    assert rig.order == ["c", "d", "e", "c", "d", "c"]


def test_error_of_the_work_reaches_its_caller() -> None:
    rig = Rig()
    for _ in range(2 * THREADS):
        with pytest.raises(ZeroDivisionError):
            rig.submit("one", lambda: 1 // 0).result(20)
    assert rig.submit("one", lambda: "next").result(20) == "next"


def test_work_that_was_given_up_in_the_line_is_not_done() -> None:
    rig = Rig()
    held = [rig.block(tenant) for tenant in ("a", "a", "b", "b")]
    given_up, kept = rig.note("c"), rig.note("d")
    assert given_up.cancel()
    rig.go.set()
    for each in (*held, kept):
        each.result(20)
    assert rig.note("c").result(20) is None
    assert rig.order == ["d", "c"]


@pytest.mark.parametrize("cancels", [False, True])
def test_shutdown_ends_or_cancels_waiting_work(cancels: bool) -> None:
    rig = Rig()
    held = [rig.block(tenant) for tenant in ("a", "a", "b", "b")]
    waiting = [rig.note("a") for _ in range(3)]
    rig.threads.shutdown(wait=False, cancel_futures=cancels)
    rig.go.set()
    rig.threads.shutdown()
    assert all(each.result(20) for each in held)
    assert [each.cancelled() for each in waiting] == [cancels] * 3
    with pytest.raises(RuntimeError):
        rig.note("a")
