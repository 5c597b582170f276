"""Blocks that are to be promised go down before the rest period ends."""

from itertools import count

from cache_tiers.moves.stores import Stores
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners
from tests.model.toy_store import ToyStore

KEYS = [BlockKey(b"somebody" + bytes([number]) * 24) for number in range(2)]


def test_hasty_blocks_do_not_wait_for_rest() -> None:
    stores = Stores(ToyStore(capacity=8), Owners(), count(), clock=lambda: 0.0, rest=1.0)
    stores.on_computed()
    stores.offer(KEYS[0], 0)
    assert stores.take(4, at_rest=True) == []
    assert stores.next_poll_seconds() == 1.0
    stores.hasten(KEYS)
    assert stores.num_hasty == 1, "what does not wait needs no haste"
    assert stores.next_poll_seconds() == 0.0
    [(key, _)] = stores.take(4, at_rest=True)
    assert (key, stores.num_hasty) == (KEYS[0], 0)


def test_block_that_leaves_the_device_needs_no_haste() -> None:
    stores = Stores(ToyStore(capacity=8), Owners(), count(), clock=lambda: 0.0, rest=1.0)
    stores.offer(KEYS[0], 0)
    stores.hasten(KEYS)
    stores.forget(KEYS[0])
    assert stores.num_hasty == 0
