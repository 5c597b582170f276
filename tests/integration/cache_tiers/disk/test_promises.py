"""Promises of the disk tier: what others store, a restart and another process change nothing about them."""

import logging
import os
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from cache_tiers.disk.others import remove_expired
from cache_tiers.lower.promise import Promised
from tests.disk_rig import FILE, opened
from tests.store_rig import key
from tests.tier_results import Results
from tests.waiting import until

HOUR = 3600.0


def promised_until(path: Path) -> float:
    return path.stat().st_atime


def test_promised_blocks_survive_the_flood_of_another_tenant(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(9))
        assert disk.promise(*range(9)) == Promised(9, None)
        disk.put(*range(100, 200), owner=b"flooding")
        assert disk.load(*range(9)) == [*range(9)]
        assert len(disk.files()) == 10
        disk.probe()
        assert disk.tier.stats().broken_promises == 0


def test_promise_outlives_a_restart_and_a_flood_after_it(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(8))
        disk.promise(*range(4))
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(100, 200), owner=b"flooding")
        assert disk.load(*range(4)) == [*range(4)]
        until(lambda: disk.tier.stats().promised_bytes == 4 * FILE)


def test_own_flood_breaks_no_promise(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(5))
        disk.promise(*range(5))
        disk.put(*range(100, 150))
        assert disk.load(*range(5)) == [*range(5)]


def test_promises_end_at_the_reserved_bytes(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(*range(8))
        assert disk.promise(*range(4), reserved_bytes=3 * FILE) == Promised(3, "no_room")
        assert disk.promise(*range(8), reserved_bytes=6 * FILE) == Promised(6, "no_room")
        assert disk.promise(*range(6), reserved_bytes=6 * FILE) == Promised(6, None), "a renewal takes no more room"
        assert disk.promise(7, reserved_bytes=0) == Promised(0, "no_room")
        disk.put(*range(2), owner=b"another!")
        assert disk.promise(*range(2), reserved_bytes=2 * FILE, owner=b"another!") == Promised(2, None)


def test_absent_block_ends_the_promise_and_is_written_again(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(0, 1, 3)
        assert disk.promise(0, 1, 2, 3) == Promised(2, "absent")
        assert disk.tier.take_missed(8) == [key(2)]
        disk.put(2)
        assert disk.promise(0, 1, 2, 3) == Promised(4, None)


def test_ended_promises_are_evicted_like_other_blocks(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(5))
        disk.promise(*range(3), seconds=HOUR)
        # The time of the last use, and the end of the promise.
        for number in range(3):
            os.utime(disk.file(number), (time.time() - 1, time.time() - HOUR))
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(100, 110))
        assert disk.load(*range(5)) == []


def test_promise_that_is_taken_back_ends(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 4 * FILE) as disk:
        disk.put(*range(3))
        disk.promise(*range(3))
        assert disk.promise(*range(3), seconds=0.0, reserved_bytes=0) == Promised(3, None)
        disk.put(*range(100, 104))
        assert disk.load(*range(3)) == []


def test_use_renews_a_promise_for_its_whole_time(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        disk.promise(1, seconds=HOUR)
        used_at = time.time() - HOUR / 2
        os.utime(disk.file(1), (used_at + HOUR, used_at))
    with opened(tmp_path / "kv") as disk:
        assert disk.load(1) == [1]
        assert promised_until(disk.file(1)) > time.time() + HOUR - 10


def test_shorter_promise_shortens_no_longer_one(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        disk.promise(1, seconds=HOUR)
        disk.promise(1, seconds=300.0)
        assert promised_until(disk.file(1)) > time.time() + HOUR - 10


def test_block_written_again_stays_promised(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 4 * FILE) as disk:
        disk.put(1)
        disk.promise(1)
        raw = disk.file(1).read_bytes()
        with disk.file(1).open("r+b") as file:
            file.write(bytes(len(raw)))
        os.utime(disk.file(1), (time.time() + HOUR, time.time()))
        assert disk.load(1) == []
        disk.put(1)
        disk.put(*range(100, 110), owner=b"flooding")
        assert disk.load(1) == [1]


def test_process_that_evicts_honours_the_promise_of_another(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as evicting, opened(tmp_path / "kv", 10 * FILE) as other:
        evicting.put(*range(5))
        assert evicting.backend.folder.is_holder
        assert not other.backend.folder.is_holder
        assert other.promise(*range(5)) == Promised(5, None)
        evicting.put(*range(100, 120), owner=b"flooding")
        assert evicting.load(*range(5)) == [*range(5)]


def test_processes_of_a_folder_share_the_reserved_bytes(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as first, opened(tmp_path / "kv") as second:
        first.put(*range(8))
        assert second.promise(*range(2), reserved_bytes=3 * FILE) == Promised(2, None)
        assert first.promise(*range(4, 8), reserved_bytes=3 * FILE) == Promised(1, "no_room")
        assert second.promise(*range(8), reserved_bytes=3 * FILE) == Promised(2, "no_room")
        first.promise(*range(2), seconds=0.0, reserved_bytes=0)
        assert second.promise(*range(4, 8), reserved_bytes=3 * FILE) == Promised(3, "no_room")


def test_promise_that_the_bound_cannot_hold_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(8))
        disk.promise(*range(8))
    with caplog.at_level(logging.WARNING), opened(tmp_path / "kv", 6 * FILE) as disk:
        until(lambda: disk.tier.stats().broken_promises == 2)
        assert disk.load(*range(8)) == [*range(6)], "the end of a chain goes first"
        assert disk.put(100) == [False]
        until(lambda: "promised" in disk.tier.stats().refusal)
    assert "2 promised blocks of the owner 736f6d65626f6479 are lost: the disk has no room" in caplog.text


def test_full_disk_refuses_writes_before_it_breaks_a_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "kv", kept_free=100 * FILE) as disk:
        disk.put(*range(4))
        disk.promise(*range(2))
        found = os.statvfs(tmp_path)
        for free, expected, broken in ((90, [0, 1], 0), (40, [], 2)):
            state = os.statvfs_result((*found[:4], free * FILE // found.f_frsize, *found[5:]))
            monkeypatch.setattr(os, "statvfs", Mock(return_value=state))
            disk.probe()
            until(lambda: disk.tier.stats().broken_promises == broken)  # noqa: B023
            assert disk.load(*range(4)) == expected
            assert disk.put(9) == [False]


def test_promised_file_that_is_gone_counts_as_broken(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        disk.promise(1, 2)
        disk.file(1).unlink()
        assert disk.load(1, 2) == [2]
        until(lambda: disk.tier.stats().broken_promises == 1)


def test_erasure_of_a_promised_block_breaks_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        disk.promise(1, 2)
        results = Results[bool]()
        disk.tier.erase([key(1)], results)
        assert results.wait(1) == [True]
        assert disk.load(1, 2) == [2]
        until(lambda: disk.tier.stats().promised_bytes == FILE)
        assert disk.tier.stats().broken_promises == 0


def test_clean_up_leaves_promised_blocks(tmp_path: Path) -> None:
    own, other = tmp_path / f"{1:016x}", tmp_path / f"{2:016x}"
    for folder in (own, other):
        with opened(folder) as disk:
            disk.put(1, 2)
            disk.promise(1, seconds=20 * HOUR)
            for number, promise in ((1, 20 * HOUR), (2, 0.0)):
                used_at = time.time() - 10 * HOUR
                os.utime(disk.file(number), (used_at + promise, used_at))
    with opened(own, ttl_seconds=HOUR) as disk:
        assert disk.load(1, 2) == [1]
    remove_expired(tmp_path / "unused", HOUR)
    with opened(other) as disk:
        assert disk.load(1, 2) == [1]
