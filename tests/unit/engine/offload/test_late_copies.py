"""Copies that end some steps after the step that started them: streams continue, and copies keep their blocks."""

import random

import pytest

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.transfer import Direction
from engine.offload.connector import OffloadConnector
from engine.offload.store_pace import MAX_STORES
from engine.request.request import Request, RequestStatus
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig

CHAT = [(at * at) % 49 for at in range(41)]


class Never(random.Random):
    """Copies end with a step without tokens only."""

    def random(self) -> float:
        return 1.0


def late_rig(pool_blocks: int = 64) -> Rig:
    rig = Rig(pool_blocks=pool_blocks, max_tokens_per_step=64, store=ToyStore(capacity=64))
    rig.worker.late = Never()
    return rig


def rig_with_stored_chat() -> Rig:
    """Make a device that has forgotten `CHAT`, and a CPU tier that has its 10 blocks."""
    rig = late_rig()
    rig.add(CHAT, max_tokens=1)
    rig.run()
    settle(rig)
    rig.pool.forget_free()
    return rig


def connector_of(rig: Rig) -> OffloadConnector:
    assert isinstance(rig.scheduler.connector, OffloadConnector)
    return rig.scheduler.connector


def settle(rig: Rig) -> None:
    """Make steps until nothing moves."""
    for _ in range(50):
        rig.now += 1
        if (output := rig.scheduler.schedule()) is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
    assert connector_of(rig).is_quiet


def load_alongside_stream(rig: Rig) -> tuple[Request, Request]:
    stream = rig.add([1, 2, 3], max_tokens=12, tenant="reader")
    rig.step()
    chat = rig.add(CHAT, max_tokens=3)
    rig.step()
    assert chat.status is RequestStatus.LOADING
    assert connector_of(rig).late.num_loads == 10
    return stream, chat


def test_stream_continues_while_load_is_under_way() -> None:
    rig = rig_with_stored_chat()
    stream, chat = load_alongside_stream(rig)
    while stream.finish_reason is None:
        output, _ = rig.step()
        assert output.num_scheduled_tokens == {stream.request_id: 1}
    assert chat.status is RequestStatus.LOADING
    output, _ = rig.step()
    assert not output.num_scheduled_tokens
    assert not output.loads, "the step must only wait for the copies"
    rig.run()
    assert chat.receipt is not None
    assert chat.receipt.reused["cpu"] == 40
    assert chat.output_token_ids == expected_output(chat.prompt_token_ids, chat.sampling, VOCAB)


def test_step_without_tokens_is_made_for_late_copies_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = rig_with_stored_chat()
    stream, chat = load_alongside_stream(rig)
    with monkeypatch.context() as patch:
        # The only stream waits for its mask: nothing is to be computed, dropped or copied.
        patch.setattr(Request, "may_be_sampled", property(lambda request: request is not stream))
        output, _ = rig.step()
        assert not output.num_scheduled_tokens
        assert not output.dropped_request_ids
        output, _ = rig.step()
        assert list(output.num_scheduled_tokens) == [chat.request_id]
    rig.run()


def test_late_loads_count_against_ration_of_next_steps() -> None:
    rig = rig_with_stored_chat()
    assert rig.tiers is not None
    for _ in range(100):
        rig.tiers.loads.ready.on_copied(0.005)
    rig.add([1, 2, 3], max_tokens=60, tenant="reader")
    rig.step()
    rig.add(CHAT, max_tokens=3)
    assert [len(rig.step()[0].loads) for _ in range(10)] == [5] + [0] * 9


def test_late_stores_are_bounded() -> None:
    rig = late_rig()
    for start in range(4):
        rig.add([start] * 45, max_tokens=60)
    while rig.scheduler.has_unfinished_requests() and rig.now < 100:
        rig.now += 1
        rig.step()
        assert connector_of(rig).late.num_stores <= MAX_STORES
    settle(rig)
    assert rig.pool.num_used == 0


def test_block_is_outside_of_cpu_tier_until_its_copy_ended() -> None:
    rig = late_rig()
    rig.add(CHAT, max_tokens=8)
    stores = connector_of(rig).tiers.stores
    while not stores.num_copying:
        rig.now += 1
        rig.step()
    assert stores.num_outside == len(CHAT) // BLOCK
    settle(rig)
    assert (stores.num_copying, stores.num_outside) == (0, 0)


def test_aborted_load_keeps_blocks_until_copies_ended() -> None:
    rig = rig_with_stored_chat()
    _, chat = load_alongside_stream(rig)
    rig.scheduler.finish_request(chat.request_id, "abort")
    for _ in range(5):
        rig.step()
        assert rig.pool.num_used >= 10
    rig.run()
    settle(rig)
    assert rig.pool.num_used == 0


def test_copies_of_lost_workers_have_failed() -> None:
    rig = rig_with_stored_chat()
    stream, chat = load_alongside_stream(rig)
    lost, _ = rig.begin()
    rig.worker.pending.clear()
    rig.worker.requests.clear()
    rig.worker.device.clear()
    rig.scheduler.lose_step(lost)
    rig.scheduler.lose_device()
    assert len(connector_of(rig).late) == 0
    rig.run()
    settle(rig)
    for request in (stream, chat):
        assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_copies_of_failed_step_end_with_later_one() -> None:
    rig = rig_with_stored_chat()
    rig.add([1, 2, 3], max_tokens=12, tenant="reader")
    rig.step()
    chat = rig.add(CHAT, max_tokens=3)
    failed, _ = rig.begin()
    assert {job.direction for job in failed.loads} == {Direction.LOAD}
    rig.worker.fail(failed)
    rig.scheduler.fail_step(failed)
    assert chat.status is RequestStatus.LOADING
    rig.run()
    assert chat.receipt is not None
    assert chat.receipt.reused["cpu"] == 40
    assert chat.output_token_ids == expected_output(chat.prompt_token_ids, chat.sampling, VOCAB)


def test_failed_step_without_tokens_ends_all_copies() -> None:
    rig = rig_with_stored_chat()
    stream, chat = load_alongside_stream(rig)
    while stream.finish_reason is None:
        rig.step()
    waiting, _ = rig.begin()
    assert not waiting.num_scheduled_tokens
    rig.worker.fail(waiting)
    assert rig.scheduler.fail_step(waiting) == []
    assert len(connector_of(rig).late) == 0
    rig.run()
    assert chat.output_token_ids == expected_output(chat.prompt_token_ids, chat.sampling, VOCAB)


@pytest.mark.parametrize("is_refused", [True, False])
def test_block_whose_store_failed_is_stored_later(is_refused: bool) -> None:
    rig = Rig(pool_blocks=64, max_tokens_per_step=64, store=ToyStore(capacity=64))
    chat = rig.add(CHAT, max_tokens=12)
    while not (output := rig.scheduler.schedule()) or not output.stores:
        assert output is not None
        rig.scheduler.update(output, rig.worker.execute(output))
    (rig.worker.refuse if is_refused else rig.worker.fail)(output)
    assert rig.scheduler.fail_step(output) == [chat]
    rig.worker.refused.clear()
    assert rig.store is not None
    settle(rig)
    assert all(rig.store.contains(BlockKey(job.key)) for job in output.stores)
    assert_no_leaks(rig.store)


def test_block_that_was_erased_is_not_stored_after_a_failure() -> None:
    rig = Rig(pool_blocks=64, max_tokens_per_step=64, store=ToyStore(capacity=64))
    rig.add(CHAT, max_tokens=12)
    while not (output := rig.scheduler.schedule()) or not output.stores:
        assert output is not None
        rig.scheduler.update(output, rig.worker.execute(output))
    rig.scheduler.erase([BlockKey(job.key) for job in output.stores])
    rig.worker.refuse(output)
    rig.scheduler.fail_step(output)
    assert rig.store is not None
    settle(rig)
    assert not any(rig.store.contains(BlockKey(job.key)) for job in output.stores)
