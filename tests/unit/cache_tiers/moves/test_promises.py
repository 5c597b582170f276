"""Promises of chains: which blocks are asked for, and when a promise ends."""

from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.moves.promises import ASK_AGAIN_SECONDS, Promises
from cache_tiers.owners.block_key import BlockKey
from tests.model.toy_store import ToyStore

KEYS = [BlockKey(b"somebody" + bytes([number]) * 24) for number in range(4)]
TERMS = PromiseTerms(300.0, 3)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_chain_in_the_tier_is_promised_at_once() -> None:
    store = ToyStore(capacity=8, redis={key: [] for key in KEYS})
    promises = Promises(store, clock=Clock())
    promises.begin("a", KEYS[:3], TERMS, patience=0.2)
    assert promises.take("a") == Promised(3, None)
    assert promises.take("a") is None
    assert len(promises) == 0


def test_blocks_that_arrive_in_time_are_promised() -> None:
    store, clock = ToyStore(capacity=8, redis={KEYS[0]: []}), Clock()
    promises = Promises(store, clock=clock)
    promises.begin("a", KEYS[:3], TERMS, patience=0.2)
    assert promises.take("a") is None
    store.redis |= {KEYS[1]: [], KEYS[2]: []}
    clock.now += ASK_AGAIN_SECONDS
    promises.poll()
    assert promises.take("a") == Promised(3, None)


def test_promise_ends_with_the_patience() -> None:
    store, clock = ToyStore(capacity=8, redis={KEYS[0]: []}), Clock()
    promises = Promises(store, clock=clock)
    promises.begin("a", KEYS[:3], TERMS, patience=0.2)
    clock.now = 0.2
    promises.poll()
    assert promises.take("a") == Promised(1, "absent")
    assert store.promised == {KEYS[0]}


def test_release_does_not_wait_for_blocks_that_are_absent() -> None:
    promises = Promises(ToyStore(capacity=8, redis={KEYS[0]: []}), clock=Clock())
    promises.begin("a", KEYS[:2], PromiseTerms(0.0, 2), patience=0.2)
    assert promises.take("a") == Promised(1, "absent")


def test_full_reservation_ends_the_promise_at_once() -> None:
    store = ToyStore(capacity=8, redis={key: [] for key in KEYS})
    promises = Promises(store, clock=Clock())
    promises.begin("a", KEYS, TERMS, patience=0.2)
    assert promises.take("a") == Promised(3, "no_room")


def test_silent_tier_ends_the_promise_with_the_patience() -> None:
    store, clock = ToyStore(capacity=8, redis={key: [] for key in KEYS}, is_silent=True), Clock()
    promises = Promises(store, clock=clock)
    promises.begin("a", KEYS[:2], TERMS, patience=0.2)
    clock.now = 0.1
    promises.poll()
    assert promises.take("a") is None
    clock.now = 0.2
    promises.poll()
    assert promises.take("a") == Promised(0, "away")


def test_tier_that_falls_silent_leaves_its_last_answer() -> None:
    store, clock = ToyStore(capacity=8, redis={KEYS[0]: []}), Clock()
    promises = Promises(store, clock=clock)
    promises.begin("a", KEYS[:2], TERMS, patience=0.2)
    store.is_silent, clock.now = True, 0.2
    promises.poll()
    assert promises.take("a") == Promised(1, "absent")
