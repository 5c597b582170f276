"""Life locks of real processes."""

import subprocess
import sys
import threading

import pytest

from engine.fleet.life_lock import LifeLock

HOLDER = """
import sys, threading
from engine.fleet.life_lock import LifeLock
lock = LifeLock(int(sys.argv[1]))
lock.hold()
print("held", flush=True)
if sys.argv[2] == "exits":
    sys.exit(0)
threading.Event().wait()
"""


@pytest.mark.parametrize("end", ["is killed", "exits"])
def test_wait_returns_when_the_holder_is_gone(end: str) -> None:
    lock = LifeLock.make()
    assert lock is not None
    command = [sys.executable, "-c", HOLDER, str(lock.descriptor), end]
    with subprocess.Popen(command, pass_fds=(lock.descriptor,), stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        waiting = threading.Thread(target=lock.wait, daemon=True)
        waiting.start()
        if end == "is killed":
            assert waiting.is_alive()
            holder.kill()
        waiting.join(20)
        assert not waiting.is_alive()
