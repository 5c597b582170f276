"""Reports of a replica, read from a scheduler."""

from collections.abc import Callable
from typing import Any

from engine.fleet.replica.reporter import Reporter
from engine.fleet.wire.report import name_of
from engine.scheduling.scheduler import Scheduler
from tests.model.toy_store import ToyStore
from tests.unit.scheduling_rig import BLOCK, Rig


class Engine:
    """An engine whose scheduler may be in doubt."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.is_in_doubt = False

    def ask(self, call: Callable[[Scheduler], Any], otherwise: Any) -> Any:
        return otherwise if self.is_in_doubt else call(self.scheduler)


def test_queue_batch_and_tips_are_reported() -> None:
    rig = Rig(store=ToyStore(16))
    reporter = Reporter(Engine(rig.scheduler))
    first = rig.add(range(2 * BLOCK + 1), max_tokens=3)
    second = rig.add(range(20, 20 + BLOCK), max_tokens=3)
    reading = reporter.read()
    assert reading is not None
    assert reading.gained.count == 0
    assert (reading.work.tokens, reading.work.waiting) == (3 * BLOCK + 1, 2)
    rig.step()
    rig.step()
    reading = reporter.read()
    assert reading is not None
    assert (reading.work.tokens, reading.work.decodes, reading.work.waiting) == (0, 2, 0)
    assert reading.work.context == first.num_tokens + second.num_tokens
    assert set(reading.gained.device) == {name_of(first.block_keys[1]), name_of(second.block_keys[0])}
    rig.run()
    reading = reporter.read()
    assert reading is not None
    assert (reading.work.decodes, reading.work.context) == (0, 0)


def test_gateway_that_comes_later_gets_all_tips() -> None:
    rig = Rig(store=ToyStore(16))
    reporter, known = Reporter(Engine(rig.scheduler)), set[int]()
    for start in range(0, 6 * BLOCK, 2 * BLOCK):
        rig.add(range(start, start + 2 * BLOCK + 1), max_tokens=3)
        while rig.scheduler.has_unfinished_requests():
            rig.step()
            reading = reporter.read()
            assert reading is not None
            known = (known - set(reading.lost.device)) | set(reading.gained.device)
            assert set(reporter.published().device) == known
    assert known


def test_common_prompt_is_counted_once() -> None:
    rig = Rig(max_num_seqs=1)
    rig.add_answers(range(3 * BLOCK), 3)
    rig.add([*range(3 * BLOCK), 40, 41])
    reading = Reporter(Engine(rig.scheduler)).read()
    assert reading is not None
    assert (reading.work.tokens, reading.work.waiting) == (3 * BLOCK + 2, 4)


def test_cached_prefix_is_no_work() -> None:
    rig = Rig()
    rig.add(range(3 * BLOCK))
    rig.run()
    reporter = Reporter(Engine(rig.scheduler))
    rig.add([*range(3 * BLOCK), 40, 41])
    reading = reporter.read()
    assert reading is not None
    assert reading.work.tokens == 2


def test_scheduler_in_doubt_reports_nothing() -> None:
    engine = Engine(Rig().scheduler)
    engine.is_in_doubt = True
    assert Reporter(engine).read() is None
