"""The claim on packed weights: one process packs, and the others wait for it, but not for one that has died."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.cpu.pack_claim import PackClaim

HOLD = """
import sys, time
from pathlib import Path
from engine.cpu.pack_claim import PackClaim

assert not PackClaim(Path(sys.argv[1])).take(0, lambda _: True, lambda: None)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "packed" / "a.claim"


def taken(path: Path) -> PackClaim:
    """Take a claim that nothing holds."""
    claim = PackClaim(path)
    assert not claim.take(0, lambda _: pytest.fail("there is nothing to wait for"), lambda: None)
    assert claim.is_held
    return claim


@contextmanager
def another_process(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that holds the claim."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_claim_is_taken_again_after_its_release(path: Path) -> None:
    for _ in range(3):
        taken(path).release()
    assert list(path.parent.iterdir()) == []


def test_waiting_claim_returns_at_the_release_and_is_not_held(path: Path) -> None:
    first, second = taken(path), PackClaim(path)

    def release(_: float) -> bool:
        first.release()
        return False

    assert second.take(60, release, lambda: None)
    assert not second.is_held
    taken(path)


def test_claim_of_a_process_that_was_killed_is_inherited(path: Path) -> None:
    with another_process(path) as process:
        claim, third = PackClaim(path), PackClaim(path)
        # Two processes wait. The first of them inherits the claim, and the other one waits on.
        assert claim.take(60, lambda _: False, process.kill)
        assert claim.is_held
        assert third.take(0, lambda _: False, lambda: None)
        assert not third.is_held


def test_wait_ends_at_its_bound(path: Path) -> None:
    with another_process(path):
        claim, waits = PackClaim(path), list[int]()
        assert claim.take(0, lambda _: pytest.fail("the time is over"), lambda: waits.append(1))
        assert (claim.is_held, waits) == (False, [1])


def test_wait_ends_when_the_waiting_process_stops(path: Path) -> None:
    with another_process(path):
        claim = PackClaim(path)
        assert claim.take(60, lambda _: True, lambda: None)
        assert not claim.is_held
