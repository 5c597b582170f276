import threading

from cache_tiers.link_speed import LinkMeter
from cache_tiers.redis.block_commands import Block
from cache_tiers.redis.job_queue import JobQueue
from cache_tiers.redis.jobs import FindJob, LoadJob, PutJob
from cache_tiers.redis.value import FINGERPRINT_BYTES, BlockSeal

NBYTES = 10
SEAL = BlockSeal(b"secret", bytes(FINGERPRINT_BYTES))


def write(key: bytes) -> PutJob:
    return PutJob(Block(key, memoryview(bytes(NBYTES))), SEAL, 60, lambda _job: None)


def question() -> FindJob:
    return FindJob([], LinkMeter(), lambda _found: None)


def load() -> LoadJob:
    return LoadJob([], SEAL, 60, LinkMeter(), lambda _outcomes: None)


def queue_of(max_write_bytes: int, most_loads: int = 1) -> JobQueue:
    return JobQueue(max_write_bytes, lambda: most_loads)


def test_a_read_that_somebody_waits_for_goes_before_all_writes() -> None:
    queue = queue_of(100)
    first, second, awaited, urgent = write(b"1"), write(b"2"), load(), question()
    assert queue.put_write(first, NBYTES)
    assert queue.put_write(second, NBYTES)
    assert queue.put_load(awaited)
    assert queue.put_question(urgent)
    assert [queue.take() for _ in range(4)] == [urgent, awaited, first, second]


def test_a_load_waits_for_the_one_before_it_and_other_work_goes_on_meanwhile() -> None:
    queue = queue_of(100)
    first, second, other = load(), load(), write(b"1")
    queue.put_load(first)
    queue.put_load(second)
    queue.put_write(other, NBYTES)
    assert [queue.take(), queue.take()] == [first, other]
    queue.done(other)
    queue.done(first)
    assert queue.take() is second


def test_several_loads_run_at_once_where_the_link_needs_them() -> None:
    queue = queue_of(100, most_loads=2)
    first, second, third, other = load(), load(), load(), write(b"1")
    for job in (first, second, third):
        queue.put_load(job)
    queue.put_write(other, NBYTES)
    assert [queue.take() for _ in range(3)] == [first, second, other]


def test_a_worker_that_waits_takes_the_load_whose_turn_has_come() -> None:
    queue = queue_of(100)
    first, second = load(), load()
    queue.put_load(first)
    queue.put_load(second)
    assert queue.take() is first
    taken: list[object] = []
    worker = threading.Thread(target=lambda: taken.append(queue.take()))
    worker.start()
    queue.done(first)
    worker.join(10)
    assert taken == [second]


def test_loads_that_wait_are_handed_out_at_once_when_the_queue_is_closed() -> None:
    queue = queue_of(100)
    first, second = load(), load()
    queue.put_load(first)
    queue.put_load(second)
    assert queue.take() is first
    queue.close()
    assert queue.take() is second
    assert queue.take() is None


def test_writes_beyond_the_bound_are_shed_until_there_is_room_again() -> None:
    queue = queue_of(25)
    assert queue.put_write(write(b"1"), NBYTES)
    assert queue.put_write(write(b"2"), NBYTES)
    assert not queue.put_write(write(b"3"), NBYTES)
    assert queue.put_load(load()), "reads are never shed"
    queue.take()
    queue.take()
    assert queue.put_write(write(b"4"), NBYTES)


def test_a_closed_queue_hands_out_what_waits_and_then_ends() -> None:
    queue = queue_of(100)
    waiting = write(b"1")
    queue.put_write(waiting, NBYTES)
    queue.close()
    assert not queue.put_write(write(b"2"), NBYTES)
    assert not queue.put_question(question())
    assert not queue.put_load(load())
    assert queue.take() is waiting
    assert queue.take() is None


def test_closing_wakes_every_worker_that_waits() -> None:
    queue = queue_of(100)
    workers = [threading.Thread(target=queue.take) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.close()
    for worker in workers:
        worker.join(10)
        assert not worker.is_alive()
