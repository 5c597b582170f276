"""Reports of a replica, read from a scheduler."""

from collections.abc import Callable
from typing import Any

from engine.fleet.report import name_of
from engine.fleet.reporter import Reporter
from engine.scheduling.scheduler import Scheduler
from tests.model.toys import ToyStore
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
    reporter = Reporter(Engine(rig.scheduler), 3)
    first = rig.add(range(2 * BLOCK + 1), max_tokens=3)
    second = rig.add(range(20, 20 + BLOCK), max_tokens=3)
    report = reporter.report(2)
    assert report is not None
    assert (report.epoch, report.seen, report.gained.count) == (3, 2, 0)
    assert (report.work.tokens, report.work.waiting) == (3 * BLOCK + 1, 2)
    rig.step()
    rig.step()
    report = reporter.report(2)
    assert report is not None
    assert (report.work.tokens, report.work.decodes, report.work.waiting) == (0, 2, 0)
    assert report.work.context == first.num_tokens + second.num_tokens
    assert set(report.gained.device) == {name_of(first.block_keys[1]), name_of(second.block_keys[0])}
    rig.run()
    report = reporter.report(2)
    assert report is not None
    assert (report.work.decodes, report.work.context) == (0, 0)


def test_unchanged_state_is_not_reported_again() -> None:
    rig = Rig()
    reporter = Reporter(Engine(rig.scheduler), 1)
    assert reporter.report(0) is not None
    assert reporter.report(0) is None
    assert reporter.report(1) is not None


def test_common_prompt_is_counted_once() -> None:
    rig = Rig(max_num_seqs=1)
    rig.add_answers(range(3 * BLOCK), 3)
    rig.add([*range(3 * BLOCK), 40, 41])
    report = Reporter(Engine(rig.scheduler), 1).report(4)
    assert report is not None
    assert (report.work.tokens, report.work.waiting) == (3 * BLOCK + 2, 4)


def test_cached_prefix_is_no_work() -> None:
    rig = Rig()
    rig.add(range(3 * BLOCK))
    rig.run()
    reporter = Reporter(Engine(rig.scheduler), 1)
    rig.add([*range(3 * BLOCK), 40, 41])
    report = reporter.report(2)
    assert report is not None
    assert report.work.tokens == 2


def test_scheduler_in_doubt_reports_nothing() -> None:
    engine = Engine(Rig().scheduler)
    engine.is_in_doubt = True
    assert Reporter(engine, 1).report(0) is None
