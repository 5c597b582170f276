import threading

from cache_tiers.lower.block import Block
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.lower.job_queue import JobQueue
from cache_tiers.lower.jobs import FindJob, Job, PutJob
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.lower.write_account import WriteAccount
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import Owners

NBYTES = 10
ME, QUIET, FLOOD = (Owner(name) for name in (b"myself..", b"quiet...", b"flood..."))
VALUES = BlockValues(BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)), NBYTES)


def write(key: bytes) -> PutJob:
    return PutJob(Block(key, memoryview(bytes(NBYTES))), VALUES, lambda _job: None)


def queue_of(max_write_bytes: int, max_writes: int) -> JobQueue:
    return JobQueue(WriteAccount(max_write_bytes, Owners()), max_writes)


def put_write(queue: JobQueue, job: PutJob, owner: Owner, nbytes: int = NBYTES) -> list[Job]:
    return queue.put_write(job, job.block, nbytes, owner)


def read() -> FindJob:
    return FindJob([], lambda _found: None)


def test_read_precedes_all_writes() -> None:
    queue = queue_of(100, 2)
    first, second, urgent = write(b"1"), write(b"2"), read()
    assert put_write(queue, first, ME) == []
    assert put_write(queue, second, ME) == []
    assert queue.put_read(urgent)
    assert [queue.take(), queue.take(), queue.take()] == [urgent, first, second]


def test_writes_beyond_bound_are_shed_until_there_is_room() -> None:
    queue = queue_of(25, 2)
    assert put_write(queue, write(b"1"), ME) == []
    assert put_write(queue, write(b"2"), ME) == []
    third = write(b"3")
    assert put_write(queue, third, ME) == [third]
    assert queue.put_read(read()), "reads are never shed"
    queue.take()
    queue.take()
    assert put_write(queue, write(b"4"), ME) == []


def test_one_worker_stays_free_for_reads_during_writes() -> None:
    queue = queue_of(100, 2)
    first, second, third, urgent = write(b"1"), write(b"2"), write(b"3"), read()
    for job in (first, second, third):
        put_write(queue, job, ME)
    assert [queue.take(), queue.take()] == [first, second]
    taken: list[object] = []
    worker = threading.Thread(target=lambda: taken.extend([queue.take(), queue.take()]))
    worker.start()
    queue.put_read(urgent)
    queue.done(urgent)
    queue.done(second)
    worker.join(10)
    assert taken == [urgent, third]


def test_closed_queue_hands_out_pending_jobs_and_then_ends() -> None:
    queue = queue_of(100, 2)
    waiting = write(b"1")
    put_write(queue, waiting, ME)
    queue.close()
    late = write(b"2")
    assert put_write(queue, late, ME) == [late]
    assert not queue.put_read(read())
    assert queue.take() is waiting
    assert queue.take() is None


def test_close_wakes_every_waiting_worker() -> None:
    queue = queue_of(100, 2)
    workers = [threading.Thread(target=queue.take) for _ in range(3)]
    for worker in workers:
        worker.start()
    queue.close()
    for worker in workers:
        worker.join(10)
        assert not worker.is_alive()


def test_owners_take_turns_to_write() -> None:
    queue = queue_of(1000, 20)
    flood, quiet = [write(b"%d" % number) for number in range(10)], [write(b"a"), write(b"b")]
    for job in flood:
        put_write(queue, job, FLOOD)
    for job in quiet:
        put_write(queue, job, QUIET)
    assert [queue.take() for _ in range(4)] == [flood[0], quiet[0], flood[1], quiet[1]]


def test_flood_sheds_its_own_writes_for_other_owner() -> None:
    queue = queue_of(4 * NBYTES, 20)
    flood = [write(b"%d" % number) for number in range(4)]
    for job in flood:
        assert put_write(queue, job, FLOOD) == []
    first, second, third = write(b"a"), write(b"b"), write(b"c")
    assert put_write(queue, first, QUIET) == [flood[3]]
    assert put_write(queue, second, QUIET) == [flood[2]]
    assert put_write(queue, third, QUIET) == [third], "both tenants hold the same share"
    late = write(b"late")
    assert put_write(queue, late, FLOOD) == [late]
    assert [queue.take() for _ in range(4)] == [flood[0], first, flood[1], second]


def test_write_larger_than_bound_sheds_nothing_else() -> None:
    queue = queue_of(2 * NBYTES, 20)
    put_write(queue, write(b"1"), FLOOD)
    large = write(b"2")
    assert put_write(queue, large, QUIET, 3 * NBYTES) == [large]
