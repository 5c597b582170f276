"""Faults of Redis and of the link to it: how each is caused and undone, and in which order they occur."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Final

import redis

from bench.slow_link import FAST, SlowLink
from bench.soak.plan import SoakPlan
from cache_tiers.lower.sealed_value import HEADER_BYTES
from tests.redis_server import RedisServer

NAMES: Final = "ebb:kv:*"
DAMAGED_SHARE: Final = 4
POISONED_BYTES: Final = 4096
SAVE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """Parts that can be broken.

    memory: limit of Redis's memory in bytes.
    """

    redis: RedisServer
    link: SlowLink
    memory: int
    source: random.Random


@contextmanager
def killed(site: Site) -> Iterator[None]:
    """Kill Redis and start it again empty."""
    site.redis.kill()
    yield
    site.redis.start()
    _flush(site)


@contextmanager
def frozen(site: Site) -> Iterator[None]:
    """Freeze Redis, which then accepts connections and never answers."""
    site.redis.freeze()
    yield
    site.redis.thaw()


@contextmanager
def slow(site: Site) -> Iterator[None]:
    """Slow the link to 2 MB/s, with a delay of 50 ms."""
    site.link.set(0.05, 2e6)
    yield
    site.link.set(0.0, FAST)


@contextmanager
def cut(site: Site) -> Iterator[None]:
    """Cut all connections at the start and at the end of the fault, with values in transit."""
    site.link.set(0.0, 30e6)
    site.link.cut()
    yield
    site.link.cut()
    site.link.set(0.0, FAST)


@contextmanager
def flushed(site: Site) -> Iterator[None]:
    """Delete all keys of Redis."""
    _flush(site)
    yield


@contextmanager
def refusing(site: Site) -> Iterator[None]:
    """Make Redis refuse writes: full, with noeviction."""
    _configure(site, 1 << 20, "noeviction")
    yield
    _configure(site, site.memory, "allkeys-lru")


@contextmanager
def evicting(site: Site) -> Iterator[None]:
    """Halve the memory of Redis, so that keys are evicted."""
    _configure(site, site.memory // 2, "allkeys-lru")
    yield
    _configure(site, site.memory, "allkeys-lru")


@contextmanager
def poisoned(site: Site) -> Iterator[None]:
    """Invert a piece of some payloads. If one of these were used, the answer would change."""
    with site.redis.client() as client:
        for name in _some(site, client):
            at = HEADER_BYTES + site.source.randrange(1 << 20)
            piece = client.getrange(name, at, at + POISONED_BYTES - 1)
            assert isinstance(piece, bytes)
            if piece:
                client.setrange(name, at, bytes(byte ^ 0xFF for byte in piece))
    yield


@contextmanager
def outdated(site: Site) -> Iterator[None]:
    """Mark some values as format version 1."""
    with site.redis.client() as client:
        for name in _some(site, client):
            client.setrange(name, 4, b"\x01\x00")
    yield


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """Set a password that Ebb does not know."""
    # The connection that sets the password stays authenticated.
    with site.redis.client() as client:
        client.config_set("requirepass", "changed")
        client.client_kill_filter(_type="normal", skipme=True)
        yield
        client.config_set("requirepass", "")


@contextmanager
def set_back(site: Site) -> Iterator[None]:
    """Restart Redis from a snapshot that is a few seconds old."""
    # Redis answers no client until the snapshot is on disk.
    with closing(redis.Redis(unix_socket_path=str(site.redis.socket), socket_timeout=SAVE_SECONDS)) as client:
        client.save()
    yield
    site.redis.kill()
    site.redis.start()


def _some(site: Site, client: redis.Redis) -> Iterator[bytes]:
    """Yield the names of some of the blocks.

    A Redis without any usable block would give Ebb nothing to get wrong.
    """
    names = list(client.scan_iter(NAMES))
    yield from site.source.sample(names, -(-len(names) // DAMAGED_SHARE))


def _flush(site: Site) -> None:
    with site.redis.client() as client:
        client.flushall()


def _configure(site: Site, memory: int, policy: str) -> None:
    with site.redis.client() as client:
        client.config_set("maxmemory", memory, "maxmemory-policy", policy)


Fault = Callable[[Site], AbstractContextManager[None]]
FAULTS: Final[dict[str, Fault]] = {
    "killed": killed,
    "frozen": frozen,
    "slow": slow,
    "cut": cut,
    "flushed": flushed,
    "refusing": refusing,
    "evicting": evicting,
    "poisoned": poisoned,
    "outdated": outdated,
    "locked": locked,
    "set back": set_back,
}


@dataclass(frozen=True, slots=True)
class Strike:
    """One fault.

    at: seconds from the beginning.
    seconds: duration.
    """

    at: float
    kind: str
    seconds: float


def schedule(plan: SoakPlan, kinds: Sequence[str]) -> list[Strike]:
    """Schedule faults, one after another, each undone before the end.

    Every kind occurs once before any kind occurs again.
    """
    source = random.Random(f"{plan.seed}/faults")
    bag: list[str] = []
    strikes = []
    for number in range(1, int(plan.seconds / plan.fault_every)):
        bag = bag or source.sample(kinds, len(kinds))
        strikes.append(Strike(number * plan.fault_every, bag.pop(), source.uniform(*plan.fault_seconds)))
    return strikes


def strike_all(strikes: Sequence[Strike], site: Site, over: threading.Event, done: Counter[str]) -> None:
    """Cause and undo all faults, and count them in `done` by kind. Block until the last one or until `over` is set."""
    began = time.monotonic()
    for strike in strikes:
        if over.wait(max(0.0, began + strike.at - time.monotonic())):
            return
        with FAULTS[strike.kind](site):
            done[strike.kind] += 1
            over.wait(strike.seconds)
