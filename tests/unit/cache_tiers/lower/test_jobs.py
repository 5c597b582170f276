"""The values of blocks, and the loads of a line: reported once, in order, whatever happens to the tier."""

from collections.abc import Iterator

import pytest

from cache_tiers.lower.backend import TierSession, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.block_line import BlockLine, Load, Outcome
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.lower.jobs import LoadJob, PutJob
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal, Reject
from cache_tiers.testing import DictBackend, DictSession
from cache_tiers.tier import Tier
from tests.store_rig import CLIENT

NBYTES = 64
SEAL = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))
VALUES = BlockValues(SEAL, NBYTES)


class Rig:
    """A line of loads from a dictionary, and what they reported."""

    def __init__(self, *stored: int, values: BlockValues = VALUES, lanes: int = 1) -> None:
        self.backend = DictBackend(Tier("dict", "a dictionary"))
        self.meter = LinkMeter()
        self.line = BlockLine(lanes)
        self.values = values
        self.reported: list[list[Outcome]] = []
        self.blocks: list[Block] = []
        for number in stored:
            PutJob(Block(key(number), memoryview(payload(number))), values, lambda _job: None).run(self.session())

    def session(self) -> DictSession:
        return self.backend.connect(self.meter, CLIENT)

    def add(self, *numbers: int) -> int:
        blocks = [Block(key(number), memoryview(bytearray(NBYTES))) for number in numbers]
        self.blocks += blocks
        return self.line.add(Load(blocks, self.reported.append))

    def job(self) -> LoadJob:
        return LoadJob(self.line, self.values, self.meter)


def key(number: int) -> bytes:
    return bytes([number]) * 32


def payload(number: int) -> bytearray:
    return bytearray([number]) * NBYTES


class Failing(DictSession):
    """A session that fails at the value of a number."""

    def __init__(self, rig: Rig, number: int) -> None:
        super().__init__(rig.backend, rig.meter)
        self._number = number

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        def until_fault() -> Iterator[Value]:
            for value in values:
                if value.key == key(self._number):
                    raise ConnectionResetError("the wire is cut")
                yield value

        yield from super().read(until_fault())


@pytest.mark.parametrize(("block_mib", "count"), [(1, 1), (2, 1), (2.1, 2), (8.5, 5)])
def test_large_block_is_several_values_with_the_first_one_last(block_mib: float, count: int) -> None:
    nbytes = int(block_mib * (1 << 20))
    assert BlockValues(SEAL, nbytes).count == 1
    values = BlockValues(SEAL, nbytes, 2 << 20)
    assert len(set(values.keys(key(1)))) == values.count == count
    sealed = list(values.sealed(Block(key(1), memoryview(bytearray(nbytes)))))
    assert sealed[-1].key == key(1)
    assert [value.is_last for value in sealed] == [False] * (count - 1) + [True]
    assert sum(value.payload.nbytes for value in sealed) == nbytes
    assert max(value.payload.nbytes for value in sealed) <= 2 << 20


def test_queued_loads_are_reported_once_and_in_order() -> None:
    rig = Rig(0, 1, 3)
    assert rig.add(0) == 1
    assert rig.add(1, 2, 3) == 0, "a lane works on the line already"
    job = rig.job()
    job.run(rig.session())
    job.finish()
    assert rig.reported == [[True], [True, False, True]]
    assert [bytes(block.payload[:1]) for block in rig.blocks] == [b"\0", b"\1", b"\0", b"\3"]


def test_finished_job_takes_no_later_load() -> None:
    rig = Rig(0)
    rig.add(0)
    job = rig.job()
    job.run(rig.session())
    assert rig.add(0) == 1, "a new job must start"
    job.finish()
    assert rig.reported == [[True]]


@pytest.mark.parametrize("count", [1, 3])
def test_second_attempt_continues_where_the_first_one_failed(count: int) -> None:
    rig = Rig(0, 1, 2, values=BlockValues(SEAL, NBYTES, -(-NBYTES // count)))
    rig.add(0, 1)
    rig.add(2)
    job = rig.job()
    with pytest.raises(ConnectionError):
        job.run(Failing(rig, 1))
    job.run(rig.session())
    job.finish()
    assert rig.reported == [[True, True], [True]]
    assert [bytes(block.payload) for block in rig.blocks] == [bytes(payload(number)) for number in range(3)]


def test_fault_ends_all_queued_loads() -> None:
    rig = Rig(0, 1, 2)
    rig.add(0)
    rig.add(1, 2)
    rig.add(2)
    job = rig.job()
    with pytest.raises(ConnectionError):
        job.run(Failing(rig, 1))
    job.finish()
    assert rig.reported == [[True], [None, None], [None]]
    assert rig.add(0) == 1, "no job may be left on the line"


def test_lane_that_fails_leaves_the_rest_to_another_lane() -> None:
    rig = Rig(0, 1, 2, lanes=2)
    assert rig.add(0, 1, 2) == 2
    failing, other = rig.job(), rig.job()
    with pytest.raises(ConnectionError):
        failing.run(Failing(rig, 1))
    failing.finish()
    assert rig.reported == []
    other.run(rig.session())
    other.finish()
    assert rig.reported == [[True, None, True]]


def test_value_that_was_changed_is_rejected_with_its_reason() -> None:
    rig = Rig(0, 1, 2, 3)
    stored = rig.backend.values
    stored[key(1)] = stored[key(0)]
    stored[key(2)] = stored[key(2)][:-1]
    stored[key(3)] = stored[key(3)][:-1] + b"?"
    rig.add(0, 1, 2, 3)
    job = rig.job()
    job.run(rig.session())
    assert rig.reported == [[True, Reject.KEY, Reject.LENGTH, Reject.MAC]]


def test_defect_in_one_callback_keeps_no_load_from_its_result() -> None:
    def fail(_outcomes: list[Outcome]) -> None:
        raise RuntimeError("a defect")

    rig = Rig(0, 1)
    rig.line.add(Load([Block(key(0), memoryview(bytearray(NBYTES)))], fail))
    rig.add(1)
    job = rig.job()
    job.run(rig.session())
    job.finish()
    assert rig.reported == [[True]]


def test_smallest_tier_has_the_methods_of_a_session() -> None:
    session: TierSession = Rig().session()
    assert session.find([key(0)]) == [False]
