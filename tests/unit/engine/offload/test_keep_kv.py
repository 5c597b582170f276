"""Requests with keep_kv off: they reuse cached blocks, leave them unchanged, and publish none."""

from tests.model.toy_store import ToyStore
from tests.unit.scheduling_rig import BLOCK, Rig

CHAT = list(range(2 * BLOCK + 1))


def talked(rig: Rig) -> list[int]:
    """Run a turn that ends with a partial block, and return its tokens."""
    request = rig.add(CHAT, max_tokens=2)
    rig.run()
    return [*CHAT, *request.output_token_ids]


def left_behind(rig: Rig) -> set[tuple[int, ...]]:
    return {block.token_ids for block in rig.pool._by_key.values()}


def test_request_without_keep_kv_reuses_blocks_and_leaves_them() -> None:
    rig = Rig()
    so_far = talked(rig)
    before = left_behind(rig)
    passing = rig.add([*so_far, 40, 41, 42], max_tokens=3, keep_kv=False)
    rig.run()
    assert passing.receipt is not None
    assert passing.receipt.reused["device"] == len(so_far) - 1
    assert left_behind(rig) == before
    following = rig.add([*so_far, 30], max_tokens=1)
    rig.run()
    assert following.receipt is not None
    assert following.receipt.reused["device"] == len(so_far) - 1


def test_request_without_keep_kv_publishes_no_block() -> None:
    rig = Rig(store=ToyStore(64))
    prompt = list(range(3 * BLOCK + 1))
    rig.add(prompt, max_tokens=2, keep_kv=False)
    rig.run()
    assert left_behind(rig) == set()
    assert rig.pool.num_cached == 0
    later = rig.add(prompt, max_tokens=1)
    rig.run()
    assert later.receipt is not None
    assert later.receipt.cached == 0


def test_request_without_keep_kv_is_never_a_leader() -> None:
    rig = Rig(max_tokens_per_step=BLOCK)
    prompt = list(range(3 * BLOCK + 1))
    rig.add(prompt, max_tokens=2, keep_kv=False)
    rig.step()
    rig.add([*prompt, 7], max_tokens=1)
    rig.step()
    assert rig.scheduler.num_waiting_for_prefix == 0
    rig.run()


def test_request_without_keep_kv_computes_if_no_room_for_copy() -> None:
    rig = Rig(pool_blocks=4)
    so_far = talked(rig)
    before = left_behind(rig)
    passing = rig.add([*so_far, 40], max_tokens=1, keep_kv=False)
    rig.run()
    assert passing.output_token_ids != []
    assert before - left_behind(rig) <= {tuple(so_far[2 * BLOCK : -1])}
