"""What is done to Redis and to the way there, in which order, and how it is undone."""

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
from cache_tiers.redis.value import HEADER_BYTES
from tests.redis_server import RedisServer

NAMES: Final = "ebb:kv:*"
DAMAGED_SHARE: Final = 4
POISONED_BYTES: Final = 4096
SAVE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """What can be broken. memory: what Redis may hold, in bytes."""

    redis: RedisServer
    link: SlowLink
    memory: int
    source: random.Random


@contextmanager
def killed(site: Site) -> Iterator[None]:
    """It comes back empty."""
    site.redis.kill()
    yield
    site.redis.start()
    _flush(site)


@contextmanager
def frozen(site: Site) -> Iterator[None]:
    """It takes connections and answers nothing."""
    site.redis.freeze()
    yield
    site.redis.thaw()


@contextmanager
def slow(site: Site) -> Iterator[None]:
    """2 MB/s, and 50 ms until an answer comes."""
    site.link.set(0.05, 2e6)
    yield
    site.link.set(0.0, FAST)


@contextmanager
def cut(site: Site) -> Iterator[None]:
    """All connections end at both ends of it, with values on their way."""
    site.link.set(0.0, 30e6)
    site.link.cut()
    yield
    site.link.cut()
    site.link.set(0.0, FAST)


@contextmanager
def flushed(site: Site) -> Iterator[None]:
    """Everything is gone."""
    _flush(site)
    yield


@contextmanager
def refusing(site: Site) -> Iterator[None]:
    """Full, with noeviction."""
    _configure(site, 1 << 20, "noeviction")
    yield
    _configure(site, site.memory, "allkeys-lru")


@contextmanager
def evicting(site: Site) -> Iterator[None]:
    """Room for half of what it holds."""
    _configure(site, site.memory // 2, "allkeys-lru")
    yield
    _configure(site, site.memory, "allkeys-lru")


@contextmanager
def poisoned(site: Site) -> Iterator[None]:
    """A piece of some payloads is inverted: if it were taken, the answer would be another one."""
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
    """Some values say that they are of format version 1."""
    with site.redis.client() as client:
        for name in _some(site, client):
            client.setrange(name, 4, b"\x01\x00")
    yield


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """It wants a password that nobody was told."""
    # The connection that set it stays signed in.
    with site.redis.client() as client:
        client.config_set("requirepass", "changed")
        client.client_kill_filter(_type="normal", skipme=True)
        yield
        client.config_set("requirepass", "")


@contextmanager
def set_back(site: Site) -> Iterator[None]:
    """It is restarted with a snapshot of some seconds ago."""
    # The server answers nobody until all of it is on the disk.
    with closing(redis.Redis(unix_socket_path=str(site.redis.socket), socket_timeout=SAVE_SECONDS)) as client:
        client.save()
    yield
    site.redis.kill()
    site.redis.start()


def _some(site: Site, client: redis.Redis) -> Iterator[bytes]:
    """Names of blocks. Not of all of them: a Redis that nothing is found in would have nothing to get wrong."""
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
    """at, seconds: from the beginning, and how long it lasts."""

    at: float
    kind: str
    seconds: float


def schedule(plan: SoakPlan, kinds: Sequence[str]) -> list[Strike]:
    """One after the other, each undone before the end. Every kind comes once before any comes again."""
    source = random.Random(f"{plan.seed}/faults")
    bag: list[str] = []
    strikes = []
    for number in range(1, int(plan.seconds / plan.fault_every)):
        bag = bag or source.sample(kinds, len(kinds))
        strikes.append(Strike(number * plan.fault_every, bag.pop(), source.uniform(*plan.fault_seconds)))
    return strikes


def strike_all(strikes: Sequence[Strike], site: Site, over: threading.Event, done: Counter[str]) -> None:
    """Blocks until all are done and undone, or `over` is set; counts them in `done` by kind."""
    began = time.monotonic()
    for strike in strikes:
        if over.wait(max(0.0, began + strike.at - time.monotonic())):
            return
        with FAULTS[strike.kind](site):
            done[strike.kind] += 1
            over.wait(strike.seconds)
