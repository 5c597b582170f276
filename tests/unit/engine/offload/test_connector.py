"""Copies up and down are rationed: a long chat in CPU memory freezes no stream. In blocks per step."""

from dataclasses import replace

from cache_tiers.moves.ready_loads import ReadyLoads
from cache_tiers.transfer import Direction, TransferJob
from engine.request.request import RequestStatus
from engine.request.scheduler_output import SchedulerOutput
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import VOCAB, Rig

COPY_SECONDS = 0.005
LONG_CHAT = [(at * at) % 49 for at in range(241)]


def rig_with_stored_chat() -> Rig:
    """Make a new device, and a CPU tier that has the 60 blocks of `LONG_CHAT`."""
    rig = Rig(pool_blocks=200, max_tokens_per_step=512, store=ToyStore(capacity=200))
    rig.add(LONG_CHAT, max_tokens=1)
    rig.run()
    rig.now += 5
    for _ in range(40):
        if (output := rig.scheduler.schedule()) is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
    rig.pool.forget_free()
    return rig


def slow_step(rig: Rig) -> SchedulerOutput:
    """Make a step whose copies take `COPY_SECONDS` each."""
    output, result = rig.begin()
    transfers = tuple(replace(each, seconds=COPY_SECONDS) for each in result.transfers)
    rig.scheduler.update(output, replace(result, transfers=transfers))
    rig.now += 0.01
    return output


def test_long_load_comes_up_over_many_steps() -> None:
    rig = rig_with_stored_chat()
    assert rig.tiers is not None
    for _ in range(100):
        rig.tiers.loads.ready.on_copied(COPY_SECONDS)
    stream = rig.add([1, 2, 3], max_tokens=60, tenant="reader")
    slow_step(rig)
    chat = rig.add(LONG_CHAT, max_tokens=3)
    loads = []
    while chat.status is not RequestStatus.RUNNING:
        output = slow_step(rig)
        loads.append(len(output.loads))
        assert stream.request_id in output.num_scheduled_tokens
    # Half of 50 ms at 5 ms each.
    assert max(loads) <= 6
    assert sum(loads) == 60
    rig.run()
    assert chat.output_token_ids == expected_output(chat.prompt_token_ids, chat.sampling, VOCAB)


def test_aborted_load_copies_nothing_more() -> None:
    rig = rig_with_stored_chat()
    assert rig.tiers is not None
    for _ in range(100):
        rig.tiers.loads.ready.on_copied(COPY_SECONDS)
    rig.add([1, 2, 3], max_tokens=60, tenant="reader")
    slow_step(rig)
    chat = rig.add(LONG_CHAT, max_tokens=3)
    slow_step(rig)
    rig.scheduler.finish_request(chat.request_id, "abort")
    assert all(not slow_step(rig).loads for _ in range(5))
    assert_no_leaks(rig.scheduler)
    rig.run()
    assert rig.pool.num_used == 0


def test_stores_wait_for_first_token_but_not_for_ever() -> None:
    rig = Rig(pool_blocks=400, max_num_seqs=32, max_tokens_per_step=16, store=ToyStore(capacity=400))
    stores = []
    for number in range(400):
        rig.add([number % VOCAB, *range(30)], max_tokens=1)
        if rig.scheduler.num_waiting > 20:
            break
    for _ in range(30):
        output, _ = rig.step()
        stores.append(len(output.stores))
        rig.now += 0.1
    assert not any(stores[:10])
    assert any(stores[10:])


def job(number: int) -> TransferJob:
    return TransferJob(number, Direction.LOAD, number, number)


def test_ready_loads_serve_each_load_in_turn() -> None:
    ready = ReadyLoads(1)
    for _ in range(100):
        ready.on_copied(1.0)
    for number in range(6):
        ready.add("long", job(number))
    ready.add("short", job(10))
    assert [each.job_id for each in ready.take(3.1)] == [0, 10, 1]
    assert [each.job_id for each in ready.take(0.0)] == [2]
    assert [each.job_id for each in ready.drop("long")] == [3, 4, 5]
    assert ready.take(9.0) == ()
    assert len(ready) == 0
