import threading

from cache_tiers.link_speed import LinkMeter
from cache_tiers.redis.block_commands import Block
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.job_queue import JobQueue
from cache_tiers.redis.jobs import FindJob, PutJob
from cache_tiers.redis.value import FINGERPRINT_BYTES, BlockSeal

NBYTES = 10
LAYOUT = BlockFormat(BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)), 60)


def write(key: bytes) -> PutJob:
    return PutJob(Block(key, memoryview(bytes(NBYTES))), LAYOUT, lambda _job: None)


def read() -> FindJob:
    return FindJob([], LinkMeter(), lambda _found: None)


def test_a_read_that_somebody_waits_for_goes_before_all_writes() -> None:
    queue = JobQueue(100, 2)
    first, second, urgent = write(b"1"), write(b"2"), read()
    assert queue.put_write(first, NBYTES)
    assert queue.put_write(second, NBYTES)
    assert queue.put_read(urgent)
    assert [queue.take(), queue.take(), queue.take()] == [urgent, first, second]


def test_writes_beyond_the_bound_are_shed_until_there_is_room_again() -> None:
    queue = JobQueue(25, 2)
    assert queue.put_write(write(b"1"), NBYTES)
    assert queue.put_write(write(b"2"), NBYTES)
    assert not queue.put_write(write(b"3"), NBYTES)
    assert queue.put_read(read()), "reads are never shed"
    queue.take()
    queue.take()
    assert queue.put_write(write(b"4"), NBYTES)


def test_a_worker_stays_free_for_reads_while_writes_are_under_way() -> None:
    queue = JobQueue(100, 2)
    first, second, third, urgent = write(b"1"), write(b"2"), write(b"3"), read()
    for job in (first, second, third):
        queue.put_write(job, NBYTES)
    assert [queue.take(), queue.take()] == [first, second]
    taken: list[object] = []
    worker = threading.Thread(target=lambda: taken.extend([queue.take(), queue.take()]))
    worker.start()
    queue.put_read(urgent)
    queue.done(urgent)
    queue.done(second)
    worker.join(10)
    assert taken == [urgent, third]


def test_a_closed_queue_hands_out_what_waits_and_then_ends() -> None:
    queue = JobQueue(100, 2)
    waiting = write(b"1")
    queue.put_write(waiting, NBYTES)
    queue.close()
    assert not queue.put_write(write(b"2"), NBYTES)
    assert not queue.put_read(read())
    assert queue.take() is waiting
    assert queue.take() is None


def test_closing_wakes_every_worker_that_waits() -> None:
    queue = JobQueue(100, 2)
    workers = [threading.Thread(target=queue.take) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.close()
    for worker in workers:
        worker.join(10)
        assert not worker.is_alive()
