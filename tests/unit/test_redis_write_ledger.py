import threading

from cache_tiers.redis.write_ledger import WriteLedger


def test_a_block_is_on_its_way_until_it_is_settled() -> None:
    ledger = WriteLedger()
    ledger.committed([b"a", b"b"])
    ledger.handed_over([b"a", b"b"])
    ledger.settled(b"a", stored=True)
    assert ledger.pending == 1
    assert ledger.lag_seconds > 0
    ledger.settled(b"b", stored=False)
    assert (ledger.pending, ledger.lag_seconds, ledger.stored, ledger.failed) == (0, 0.0, 1, 1)


def test_the_lag_is_the_age_of_the_oldest_block() -> None:
    now = 100.0
    ledger = WriteLedger(clock=lambda: now)
    ledger.handed_over([b"old"])
    now = 101.5
    ledger.handed_over([b"new"])
    assert ledger.lag_seconds == 1.5
    ledger.settled(b"old", stored=True)
    assert ledger.lag_seconds == 0.0


def test_a_block_that_nobody_takes_over_is_given_up() -> None:
    now = 100.0
    ledger = WriteLedger(clock=lambda: now)
    ledger.committed([b"lost", b"taken"])
    ledger.handed_over([b"taken"])
    now = 111.0
    assert ledger.pending == 1
    assert ledger.failed == 1


def test_waiting_ends_with_the_last_block() -> None:
    ledger = WriteLedger()
    ledger.handed_over([b"a"])
    assert not ledger.wait_until_empty(timeout=0.01)
    writer = threading.Timer(0.01, ledger.settled, [b"a"], {"stored": True})
    writer.start()
    assert ledger.wait_until_empty(timeout=10)
    writer.join()


def test_a_block_that_is_withdrawn_is_no_longer_on_its_way_unless_somebody_writes_it() -> None:
    ledger = WriteLedger()
    ledger.committed([b"withdrawn", b"written"])
    ledger.handed_over([b"written"])
    ledger.withdrawn([b"withdrawn", b"written", b"unknown"])
    assert (ledger.pending, ledger.failed) == (1, 0)
    ledger.settled(b"written", stored=True)
    assert ledger.wait_until_empty(0.0)
