import threading

from cache_tiers.lower.write_ledger import WriteLedger


def test_block_is_pending_until_settled() -> None:
    ledger = WriteLedger()
    ledger.commit([b"a", b"b"])
    ledger.handed_over([b"a", b"b"])
    ledger.settle(b"a", stored=True)
    assert ledger.pending == 1
    assert ledger.lag_seconds > 0
    ledger.settle(b"b", stored=False)
    assert (ledger.pending, ledger.lag_seconds, ledger.stored, ledger.failed) == (0, 0.0, 1, 1)


def test_lag_is_age_of_oldest_block() -> None:
    now = 100.0
    ledger = WriteLedger(clock=lambda: now)
    ledger.handed_over([b"old"])
    now = 101.5
    ledger.handed_over([b"new"])
    assert ledger.lag_seconds == 1.5
    ledger.settle(b"old", stored=True)
    assert ledger.lag_seconds == 0.0


def test_committed_block_without_handover_fails() -> None:
    now = 100.0
    ledger = WriteLedger(clock=lambda: now)
    ledger.commit([b"lost", b"taken"])
    ledger.handed_over([b"taken"])
    now = 111.0
    assert ledger.pending == 1
    assert ledger.failed == 1


def test_wait_ends_with_last_block() -> None:
    ledger = WriteLedger()
    ledger.handed_over([b"a"])
    assert not ledger.wait_until_empty(timeout=0.01)
    writer = threading.Timer(0.01, ledger.settle, [b"a"], {"stored": True})
    writer.start()
    assert ledger.wait_until_empty(timeout=10)
    writer.join()


def test_withdrawn_block_is_not_pending_unless_being_written() -> None:
    ledger = WriteLedger()
    ledger.commit([b"withdrawn", b"written"])
    ledger.handed_over([b"written"])
    ledger.withdrawn([b"withdrawn", b"written", b"unknown"])
    assert (ledger.pending, ledger.failed) == (1, 0)
    ledger.settle(b"written", stored=True)
    assert ledger.wait_until_empty(0.0)
