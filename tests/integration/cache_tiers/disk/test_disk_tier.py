"""The disk tier: its bound, its order of eviction, what it leaves behind, and the processes that share a folder."""

import errno
import fcntl
import mmap
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from cache_tiers.disk import backend as disk_backend
from cache_tiers.disk import others
from cache_tiers.disk.folder import DiskFolder, folder_of
from cache_tiers.disk.value_file import PAGE, ValueFiles, allows_direct
from cache_tiers.lower.backend import Value
from cache_tiers.lower.misses import TierMissReason
from cache_tiers.lower.sealed_value import HEADER_BYTES
from cache_tiers.redis import backend as redis_backend
from tests.disk_rig import FILE, NBYTES, Disk, opened, payload
from tests.store_rig import key
from tests.tier_results import Results
from tests.waiting import until


def test_bound_holds_and_the_least_recently_used_blocks_go(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        assert all(disk.put(*range(10)))
        assert disk.load(0) == [0]
        assert all(disk.put(*range(10, 14)))
        assert len(disk.files()) == 10
        assert disk.load(*range(14)) == [0, *range(5, 14)]
        disk.probe()
        until(lambda: disk.tier.stats().evicted_blocks == 4)
        assert disk.tier.stats().used_bytes == 10 * FILE


def test_bound_and_order_hold_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(*range(10))
        for number in range(10):
            os.utime(disk.file(number), (time.time() - 100 + number,) * 2)
    with opened(tmp_path / "kv", 4 * FILE) as disk:
        until(lambda: len(disk.files()) == 4)
        assert disk.load(*range(10)) == [6, 7, 8, 9]


def test_flood_of_one_tenant_takes_no_others_share(tmp_path: Path) -> None:
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.put(*range(3), owner=b"patient!")
        disk.put(*range(100, 130), owner=b"flooding")
        assert disk.load(*range(3), owner=b"patient!") == [0, 1, 2]
        assert len(disk.files()) == 10


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        [file] = disk.files()
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent, file.parent.parent, tmp_path / "kv")]
        assert modes == [0o600, 0o700, 0o700, 0o700]
        assert (tmp_path / "kv" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_leftover_drafts_are_removed_and_new_ones_stay(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        old, new = (disk.file(1).with_name(f"{name}.draft") for name in ("old", "new"))
        old.write_bytes(b"x")
        new.write_bytes(b"x")
        os.utime(old, (time.time() - 1000,) * 2)
    with opened(tmp_path / "kv") as disk:
        until(lambda: not old.exists())
        assert new.exists()
        assert disk.load(1) == [1]


def test_unused_blocks_age_out(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        os.utime(disk.file(1), (time.time() - 1000,) * 2)
    with opened(tmp_path / "kv", ttl_seconds=500) as disk:
        until(lambda: not disk.file(1).exists())
        assert disk.load(1, 2) == [2]


def test_use_of_a_block_counts_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        for number in (1, 2):
            os.utime(disk.file(number), (time.time() - 1000,) * 2)
    with opened(tmp_path / "kv") as disk:
        disk.load(1)
        assert time.time() - disk.file(1).stat().st_mtime < 100
        assert time.time() - disk.file(2).stat().st_mtime > 900


def test_one_process_evicts_for_all_and_another_takes_over(tmp_path: Path) -> None:
    first, second = Disk(tmp_path / "kv", 6 * FILE), Disk(tmp_path / "kv", 6 * FILE)
    try:
        assert (first.backend.folder.is_holder, second.backend.folder.is_holder) == (True, False)
        second.put(*range(10))
        assert second.load(9) == [9]
        assert first.load(9) == [9], "each finds the files of the other"
        first.probe()
        assert len(first.files()) == 6
        first.close()
        second.probe()
        assert second.backend.folder.is_holder
        second.put(*range(20, 30))
        assert len(second.files()) == 6
    finally:
        second.close()


def test_full_disk_refuses_writes_and_serves_reads(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
    with opened(tmp_path / "kv", kept_free=1 << 60) as disk:
        assert disk.put(2) == [False]
        assert "would stay free on the disk" in disk.tier.stats().refusal
        assert disk.tier.stats().state == "ok"


def test_failed_write_is_a_refusal_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        monkeypatch.setattr(os, "pwritev", fail)
        assert disk.put(3) == [False]
        assert disk.tier.stats().refusal == "a block could not be written: No space left on device"
        assert disk.load(1, 2) == [2], "the oldest block gave way"
        assert [path.name for path in (tmp_path / "kv").rglob("*.draft")] == []


def test_unreadable_block_is_a_miss_and_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "preadv", fail)
            assert disk.load(1) == []
        miss = disk.tier.miss_of(key(1))
        assert miss is not None
        assert miss.reason is TierMissReason.REJECTED
        assert disk.tier.stats().state == "ok"
        assert disk.files() == []
        assert disk.put(1) == [True]
        assert disk.load(1) == [1]


def test_removed_folder_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_backend, "_MISSED_SECONDS", 0.0)
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        (tmp_path / "kv").rename(tmp_path / "elsewhere")
        until(lambda: (tmp_path / "kv").exists())
        until(lambda: disk.put(2) == [True])
        assert disk.load(1, 2) == [2]


def test_folders_of_other_secrets_age_out_unless_they_are_used(tmp_path: Path) -> None:
    mine, gone, used = (folder_of(tmp_path, secret) for secret in (b"mine", b"gone", b"used"))
    for folder in (gone, used):
        with opened(folder) as disk:
            disk.put(1, 2)
            os.utime(disk.file(1), (time.time() - 1000,) * 2)
    with opened(used):
        assert others.remove_expired(mine, 500) == 1
        assert others.remove_expired(mine, -1) == 1, "the last file of a folder that nobody uses"
    assert sorted(tmp_path.iterdir()) == [used]


def test_values_past_the_page_cache_are_the_same_files(tmp_path: Path, disk_folder: Path) -> None:
    direct = allows_direct(str(disk_folder))
    memory = memoryview(mmap.mmap(-1, 3 * NBYTES))
    memory[:NBYTES] = payload(1)
    header = bytes(range(HEADER_BYTES))
    for writes, reads in ((direct, False), (False, direct), (direct, direct)):
        path = str(disk_folder / f"{writes}{reads}{os.urandom(4).hex()}")
        ValueFiles(nullcontext, direct=writes).write(path, Value(key(1), header, memory[:NBYTES]))
        found = Value(key(1), bytearray(HEADER_BYTES), memory[NBYTES : 2 * NBYTES])
        found.payload[:] = bytes(NBYTES)
        assert ValueFiles(nullcontext, direct=reads).read(path, found) == HEADER_BYTES + NBYTES
        assert (bytes(found.header), bytes(found.payload)) == (header, payload(1))
    odd = Value(key(1), bytearray(HEADER_BYTES), memory[2 * NBYTES + 1 : 3 * NBYTES - 7])
    ValueFiles(nullcontext, direct=direct).write(str(disk_folder / "odd"), odd)
    assert (
        ValueFiles(nullcontext, direct=direct).read(str(disk_folder / "odd"), odd) == HEADER_BYTES + odd.payload.nbytes
    )


def test_direct_calls_that_are_refused_pass_the_page_cache(disk_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_direct(real: Callable[..., int]) -> Callable[..., int]:
        def call(file: int, parts: Sequence[memoryview], offset: int) -> int:
            if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT and sum(map(len, parts)) > PAGE:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            return real(file, parts, offset)

        return call

    for name in ("preadv", "pwritev"):
        monkeypatch.setattr(os, name, refuse_direct(getattr(os, name)))
    with opened(disk_folder / "kv") as disk:
        assert disk.put(1, 2) == [True, True]
        assert disk.load(1, 2) == [1, 2]
        assert disk.tier.stats().state == "ok"
        assert len(disk.files()) == 2


@pytest.fixture
def disk_folder() -> Iterator[Path]:
    """Folder on a disk, or wherever the checkout is: temporary folders of tests are in memory."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(dir=Path(__file__).parents[4] / ".make") as folder:
        yield Path(folder)


def test_keys_of_other_files_are_ignored(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        disk.file(1).with_name("notes.txt").write_text("of a person")
        (tmp_path / "kv" / "lost+found").mkdir()
    with opened(tmp_path / "kv", FILE) as disk:
        disk.put(2)
        assert disk.load(1, 2) == [2]
        assert disk.file(1).with_name("notes.txt").exists()


def test_erasure_removes_the_blocks_of_every_model(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        other = tmp_path / "kv" / ("ab" * 16) / disk.file(1).parent.name / disk.file(1).name
        other.parent.mkdir(parents=True)
        other.write_bytes(disk.file(1).read_bytes())
        results = Results[bool]()
        disk.tier.erase([key(1)], results)
        assert results.wait(1) == [True]
        assert disk.files() == [disk.file(2)]


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with ExitStack() as closing:
        folders = [DiskFolder(tmp_path / "kv") for _ in range(3)]
        for folder in folders:
            folder.create()
            closing.callback(folder.close)
        assert [folder.hold() for folder in folders] == [True, False, False]
        assert not folders[0].is_alone()
        folders[1].close()
        folders[2].close()
        assert folders[0].is_alone()


def test_each_thread_that_moves_blocks_is_in_the_memory_plan(tmp_path: Path) -> None:
    with opened(tmp_path / "kv"):
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("disk-blocks-")]
    assert disk_backend.DESCRIPTION.sealing_bytes(8 << 20) == len(threads) * (8 << 20)


def test_values_of_redis_are_sealed_one_at_a_time() -> None:
    assert redis_backend.DESCRIPTION.sealing_bytes(8 << 20) == 4 * (2 << 20)
