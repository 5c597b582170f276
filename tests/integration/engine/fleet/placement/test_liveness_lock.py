"""Life locks of real processes."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from engine.fleet.placement.liveness_lock import LivenessLock

HOLDER = """
import sys, threading
from engine.fleet.placement.liveness_lock import LivenessLock
lock = LivenessLock(int(sys.argv[1]))
lock.hold()
print("held", flush=True)
if sys.argv[2] == "exits":
    sys.exit(0)
threading.Event().wait()
"""


@contextmanager
def holder(lock: LivenessLock, end: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that has taken the lock, until the context ends."""
    command = [sys.executable, "-c", HOLDER, str(lock.descriptor), end]
    with subprocess.Popen(command, pass_fds=(lock.descriptor,), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


def waiting(lock: LivenessLock, is_unwanted: Event) -> "Future[bool]":
    """Wait for the end of the lock's holder on a thread, and return the result to come."""
    result: Future[bool] = Future()
    Thread(target=lambda: result.set_result(lock.wait(is_unwanted)), daemon=True).start()
    return result


@pytest.mark.parametrize("end", ["is killed", "exits"])
def test_wait_returns_when_the_holder_is_gone(end: str) -> None:
    lock = LivenessLock.make()
    assert lock is not None
    with holder(lock, end) as process:
        result = waiting(lock, Event())
        if end == "is killed":
            assert not result.done()
            process.kill()
        assert result.result(20)


def test_unwanted_wait_ends_while_the_holder_lives() -> None:
    lock, is_unwanted = LivenessLock.make(), Event()
    assert lock is not None
    with holder(lock, "is killed") as process:
        unwanted, wanted = waiting(lock, is_unwanted), waiting(lock, Event())
        is_unwanted.set()
        assert not unwanted.result(20)
        # The process still holds the lock, and the other wait ends with it.
        assert (process.poll(), wanted.done()) == (None, False)
        process.kill()
        assert wanted.result(20)
