"""Faults below the disk tier: the process killed, power lost, media that fail, hang or are slow, and full disks."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cache_tiers.disk import backend
from cache_tiers.lower.block import Block
from cache_tiers.lower.misses import TierMissReason
from tests.faults_disk.disk import disk_at
from tests.faults_tiers.mounts import mounted, mounted_image
from tests.faults_tiers.tier_on import NBYTES, tier_on
from tests.forked_process import ForkedProcess
from tests.store_rig import key
from tests.waiting import until

KILLS = 25
COMMIT_SECONDS = 10.0
"""Age from which a block survives a power cut. ext4 commits every 5 seconds."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Folder on the disk of the checkout. Temporary folders of tests are in memory."""
    home = Path(__file__).parents[2] / ".make"
    home.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=home) as made:
        yield Path(made)


def write_until_killed() -> int:
    """Write block after block, and print the number of each that was stored."""
    with tier_on(Path(sys.argv[1])) as tier:
        for number in range(10_000):
            if tier.put(number):
                print(number, flush=True)
    return 0


class Writer:
    """A process that writes blocks. stored: how many are known to be stored."""

    def __init__(self, folder: Path) -> None:
        reading, writing = os.pipe()
        self.process = ForkedProcess(write_until_killed, [str(folder)], stdout=writing)
        os.close(writing)
        self._output = os.fdopen(reading)
        self.stored = 0

    def until_stored(self, count: int) -> None:
        """Wait until `count` blocks are stored."""
        while self.stored < count:
            assert self._output.readline()
            self.stored += 1

    def kill(self) -> None:
        """Kill the process, and learn what it stored before."""
        self.process.kill()
        self.process.wait(20)
        self.stored += len(self._output.read().split("\n")) - 1
        self._output.close()


def test_kill_9_loses_no_stored_block(folder: Path) -> None:
    choose = random.Random(1)
    for number in range(KILLS):
        kv = folder / str(number)
        writer = Writer(kv)
        writer.until_stored(choose.randrange(1, 30))
        writer.kill()
        with tier_on(kv) as tier:
            assert tier.load(list(range(writer.stored))) == list(range(writer.stored))
        shutil.rmtree(kv)


def test_power_cut_loses_only_the_last_seconds(folder: Path) -> None:
    image, copy = folder / "image", folder / "copy"
    stored_at = []
    with mounted_image(image, folder / "before", "400M") as disk, tier_on(disk / "kv") as tier:
        began = time.monotonic()
        for number in range(100):
            assert tier.put(number)
            stored_at.append(time.monotonic())
            # Blocks of the last 20 seconds, so that the file system has committed some and not others.
            time.sleep(max(0.0, began + 0.2 * number - time.monotonic()))
        # The image holds what the device had received: a copy of it is the disk after a power cut.
        cut_at = time.monotonic()
        shutil.copyfile(image, copy)
    with mounted_image(copy, folder / "after") as disk, tier_on(disk / "kv") as tier:
        found = tier.load(list(range(100)))
    lost = [cut_at - stored_at[number] for number in range(100) if number not in found]
    print(f"\n{len(found)} of 100 blocks found, the oldest lost one was stored {max(lost, default=0):.1f} s before")
    assert max(lost, default=0.0) < COMMIT_SECONDS


def test_power_cut_brings_no_erased_block_back(folder: Path) -> None:
    image, copy = folder / "image", folder / "copy"
    with mounted_image(image, folder / "before", "400M") as disk, tier_on(disk / "kv") as tier:
        assert all(tier.put(number) for number in range(20))
        os.sync()
        assert tier.erase(range(10))
        shutil.copyfile(image, copy)
    with mounted_image(copy, folder / "after") as disk, tier_on(disk / "kv") as tier:
        assert tier.load(list(range(20))) == list(range(10, 20))


def erase_until_killed() -> int:
    """Write blocks of two owners, erase those of one of them, and wait."""
    with tier_on(Path(sys.argv[1])) as tier:
        for number in range(10):
            assert tier.put(number)
            assert tier.put(number, b"another!")
        assert tier.erase(range(10))
        print(flush=True)
        signal.pause()
    return 0


def test_kill_9_leaves_no_name_of_an_owner_that_was_erased(folder: Path) -> None:
    reading, writing = os.pipe()
    process = ForkedProcess(erase_until_killed, [str(folder / "kv")], stdout=writing)
    os.close(writing)
    with os.fdopen(reading) as output:
        assert output.readline()
        process.kill()
        process.wait(20)
    names = [path.name for path in folder.rglob("*")]
    assert not [name for name in names if b"somebody".hex() in name]
    assert len([name for name in names if b"another!".hex() in name]) == 10


def test_medium_that_cannot_read_is_a_miss_and_no_outage(tmp_path: Path) -> None:
    with disk_at(tmp_path) as disk, tier_on(disk.folder / "kv") as tier:
        assert all(tier.put(number) for number in range(8))
        disk.be("broken")
        assert tier.load(list(range(4))) == []
        miss = tier.tier.miss_of(key(0))
        assert miss is not None
        assert miss.reason is TierMissReason.REJECTED
        disk.be("ok")
        assert tier.tier.stats().state == "ok"
        assert tier.load(list(range(4, 8))) == [4, 5, 6, 7]


def test_disk_that_hangs_is_left_out(tmp_path: Path) -> None:
    with disk_at(tmp_path) as disk, tier_on(disk.folder / "kv") as tier:
        assert all(tier.put(number) for number in range(4))
        disk.be("hang")
        began = time.monotonic()
        tier.tier.load([Block(key(0), memoryview(bytearray(NBYTES)))], lambda _loaded: None)
        until(lambda: not tier.tier.available)
        assert time.monotonic() - began < 10
        assert tier.put(9) is False, "no caller waits for it"
        disk.be("ok")
        until(lambda: tier.tier.available)
        assert tier.load([0, 1, 2, 3]) == [0, 1, 2, 3]


def test_disk_that_hangs_at_the_start_is_used_once_it_answers(tmp_path: Path) -> None:
    with disk_at(tmp_path) as disk:
        with tier_on(disk.folder / "kv") as tier:
            assert all(tier.put(number) for number in range(4))
        disk.be("hang")
        began = time.monotonic()
        with tier_on(disk.folder / "kv") as tier:
            assert time.monotonic() - began < 10
            assert tier.load([0]) == []
            disk.be("ok")
            until(lambda: tier.tier.available)
            assert tier.load([0, 1, 2, 3]) == [0, 1, 2, 3]


def test_slow_disk_sheds_its_writes_and_keeps_the_rest(tmp_path: Path) -> None:
    with disk_at(tmp_path) as disk, tier_on(disk.folder / "kv") as tier:
        disk.be("slow")
        assert all(tier.put(number) for number in range(3))
        assert tier.load([0, 1, 2]) == [0, 1, 2]
        assert tier.tier.stats().state == "ok"


@pytest.mark.parametrize("max_bytes", [1 << 30, 24 << 20], ids=["bound above the disk", "bound below the disk"])
def test_small_disk_keeps_the_newest_blocks(folder: Path, max_bytes: int) -> None:
    with (
        mounted_image(folder / "image", folder / "disk", "64M") as disk,
        tier_on(disk / "kv", max_bytes, kept_free=4 << 20) as tier,
    ):
        assert all(tier.put(number) for number in range(80))
        assert tier.load(list(range(72, 80))) == list(range(72, 80))
        assert tier.tier.stats().refusal == ""
        assert len(list((disk / "kv").rglob("?" * 64))) <= max_bytes // NBYTES


def test_disk_filled_by_others_refuses_until_there_is_room(folder: Path) -> None:
    with mounted_image(folder / "image", folder / "disk", "64M") as disk, tier_on(disk / "kv", 8 << 20) as tier:
        assert tier.put(1)
        _fill(disk / "of others")
        until(lambda: not tier.put(2))
        assert tier.tier.stats().state == "ok"
        assert list((disk / "kv").rglob("*.draft")) == []
        (disk / "of others").unlink()
        until(lambda: tier.put(3))
        assert tier.load([3]) == [3]


def _fill(file: Path) -> None:
    with file.open("wb") as written:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    written.write(bytes(size))
                    written.flush()
            except OSError:
                continue


def test_read_only_disk_serves_reads(folder: Path) -> None:
    with mounted_image(folder / "image", folder / "disk", "64M") as disk, tier_on(disk / "kv") as tier:
        assert all(tier.put(number) for number in range(4))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        try:
            until(lambda: tier.put(9) is False)
            assert "ead-only file system" in tier.tier.stats().refusal or "read-only" in tier.tier.stats().refusal
            assert tier.load([0, 1, 2, 3]) == [0, 1, 2, 3]
        finally:
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        until(lambda: tier.put(9))


def test_memory_and_overlay_file_systems_hold_blocks(folder: Path) -> None:
    for name in ("lower", "upper", "work"):
        (folder / name).mkdir()
    layers = f"lowerdir={folder / 'lower'},upperdir={folder / 'upper'},workdir={folder / 'work'}"
    with (
        mounted(folder / "memory", "-t", "tmpfs", "-o", "size=64M", "tmpfs") as memory,
        mounted(folder / "overlay", "-t", "overlay", "-o", layers, "overlay") as overlay,
    ):
        for place in (memory, overlay):
            with tier_on(place / "kv", 40 << 20) as tier:
                assert all(tier.put(number) for number in range(20))
            with tier_on(place / "kv", 40 << 20) as tier:
                assert tier.load(list(range(20))) == list(range(20))


@pytest.mark.parametrize("kind", ["ext2", "ext3"])
def test_file_systems_that_reserve_no_bytes_hold_blocks(folder: Path, kind: str) -> None:
    with mounted_image(folder / "image", folder / "disk", "64M", kind) as disk:
        with tier_on(disk / "kv", 40 << 20) as tier:
            assert all(tier.put(number) for number in range(20))
        with tier_on(disk / "kv", 40 << 20) as tier:
            assert tier.load(list(range(20))) == list(range(20))


def test_disk_with_few_files_keeps_the_newest_blocks(folder: Path) -> None:
    options = ("-N", "48")
    with (
        mounted_image(folder / "image", folder / "disk", "128M", options=options) as disk,
        tier_on(disk / "kv") as tier,
    ):
        assert all(tier.put(number) for number in range(60))
        assert tier.load(list(range(56, 60))) == [56, 57, 58, 59]
        assert tier.tier.stats().refusal == ""
        assert os.statvfs(disk).f_favail >= 2, "the database needs files too"


def test_disk_that_is_unmounted_is_not_replaced_by_its_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_MISSED_SECONDS", 1.0)
    place = folder / "disk"
    with mounted_image(folder / "image", place, "64M") as disk, tier_on(disk / "kv") as tier:
        assert tier.put(1)
        subprocess.run(["umount", "-l", disk], check=True)
        until(lambda: "not mounted" in tier.tier.stats().state)
        assert list(place.iterdir()) == []
        with mounted_image(folder / "image", place):
            until(lambda: tier.tier.available)
            assert tier.load([1]) == [1]
            assert tier.put(2)


def test_holder_that_is_killed_leaves_the_folder_to_another(folder: Path) -> None:
    writer = Writer(folder / "kv")
    writer.until_stored(8)
    with tier_on(folder / "kv", 4 << 20) as tier:
        assert not tier.backend.folder.is_holder
        writer.kill()
        until(lambda: tier.backend.folder.is_holder)
        until(lambda: len(list((folder / "kv").rglob("?" * 64))) <= 4)
