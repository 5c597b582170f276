"""Strange names, denied calls, odd file systems and wrong clocks in the folder of a disk tier cost single blocks."""

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from cache_tiers.disk import backend as disk_backend
from cache_tiers.disk.folder import DiskFolder, disk_bytes, folder_of
from cache_tiers.lower.misses import TierMissReason
from cache_tiers.lower.promise import Promised
from tests.disk_rig import FILE, Disk, opened
from tests.store_rig import key
from tests.tier_results import Results
from tests.waiting import until

LONG_AGO = time.time() - 100 * 24 * 3600.0


def is_ok(disk: Disk) -> bool:
    """Ask the tier as it asks itself every second, and return whether it is in use."""
    disk.probe()
    return disk.tier.stats().state == "ok"


def file_in_place_of_a_model(disk: Disk) -> None:
    (disk.folder / ("ab" * 16)).write_text("a file")


def file_in_place_of_a_shard(disk: Disk) -> None:
    disk.file(1).parent.with_name("zz").write_text("a file")


def folder_among_the_shards(disk: Disk) -> None:
    disk.file(1).parent.with_name("@eaDir").mkdir()


def old_folder_among_the_values(disk: Disk) -> None:
    folder = disk.file(1).with_name("lost+found")
    folder.mkdir()
    os.utime(folder, (LONG_AGO,) * 2)


def link_that_leads_nowhere(disk: Disk) -> None:
    (disk.folder / ("cd" * 16)).symlink_to("nowhere")


@pytest.mark.parametrize(
    "put_there",
    [
        file_in_place_of_a_model,
        file_in_place_of_a_shard,
        folder_among_the_shards,
        old_folder_among_the_values,
        link_that_leads_nowhere,
    ],
)
def test_strange_names_in_the_folder_cost_nothing(tmp_path: Path, put_there: Callable[[Disk], None]) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        put_there(disk)
    with opened(tmp_path / "kv") as disk, opened(tmp_path / "kv") as other:
        assert disk.backend.folder.is_holder
        for each in (disk, other, disk):
            assert is_ok(each)
            assert each.load(1) == [1]
            assert each.put(2) == [True]
        results = Results[bool]()
        disk.tier.erase([key(1)], results)
        assert results.wait(1) == [True]


def test_clean_up_removes_only_values_and_drafts(tmp_path: Path) -> None:
    mine, gone = (folder_of(tmp_path, secret) for secret in (b"mine", b"gone"))
    notes = []
    for folder in (mine, gone):
        with opened(folder) as disk:
            disk.put(1, 2)
            notes.append(disk.file(1).with_name("notes.txt"))
            notes[-1].write_text("of a person")
            for path in (notes[-1], disk.file(1)):
                os.utime(path, (LONG_AGO,) * 2)
    with opened(mine) as disk:
        assert disk.load(1, 2) == [2]
        until(lambda: len(list(gone.rglob("?" * 64))) == 1)
    assert [note.read_text() for note in notes] == ["of a person"] * 2


def link_to_a_file(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def file_of_another_user(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("replace", [link_to_a_file, pipe, file_of_another_user])
def test_file_that_is_no_value_is_never_used(tmp_path: Path, replace: Callable[[Path], None]) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        replace(disk.file(1))
        # Root may read all files, so that of another user is a whole block.
        assert disk.load(1, 2) in ([2], [1, 2])
        assert disk.tier.stats().state == "ok"
        assert disk.put(1) == [True]
        assert disk.load(1) == [1]
        assert stat.S_ISREG(disk.file(1).lstat().st_mode)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_denied_read_is_a_miss_and_no_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        denied, real = str(disk.file(1)), os.open

        def open_(path: Any, *rest: Any, **named: Any) -> int:
            if path == denied:
                raise OSError(number, os.strerror(number))
            return real(path, *rest, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", open_)
            assert disk.load(1, 2) == [2]
        miss = disk.tier.miss_of(key(1))
        assert miss is not None
        assert miss.reason is TierMissReason.REJECTED
        assert disk.tier.stats().state == "ok"


def test_folder_in_place_of_a_value_refuses_one_write(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        disk.file(2).mkdir(parents=True)
        assert disk.put(2) == [False]
        assert disk.tier.stats().state == "ok"
        assert disk.load(1, 2) == [1]
        until(lambda: disk.tier.stats().refusal == "")
        results = Results[bool]()
        disk.tier.erase([key(2)], results)
        assert results.wait(1) == [True], "nothing is stored under this name"
        assert disk.tier.stats().state == "ok"


def test_removal_that_is_denied_leaves_the_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: Any, **__: Any) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    with opened(tmp_path / "kv") as disk:
        disk.put(*range(4))
    with opened(tmp_path / "kv", 4 * FILE) as disk:
        until(lambda: len(disk.load(*range(4))) == 4)
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", deny)
            assert disk.backend._room is not None
            disk.backend._room._max_bytes = 2 * FILE
            for _ in range(4):
                assert is_ok(disk)
                assert disk.put(9) == [False]
            assert "Permission denied" in disk.tier.stats().refusal
            assert disk.load(*range(4)) == [*range(4)]
        disk.probe()
        assert len(disk.files()) == 2, "the bound holds once removals are allowed"


def test_expired_values_of_a_read_only_folder_are_no_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        os.utime(disk.file(1), (LONG_AGO,) * 2)
    monkeypatch.setattr(os, "unlink", refuse)
    # A change of the mode, though to the same one, would fail as well.
    monkeypatch.setattr(os, "chmod", refuse)
    with opened(tmp_path / "kv") as disk:
        assert is_ok(disk)
        assert disk.load(2) == [2]


def test_folder_that_is_replaced_by_its_copy_has_one_holder(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as first:
        first.put(*range(4))
        (tmp_path / "kv").rename(tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", tmp_path / "kv")
        with opened(tmp_path / "kv") as second:
            assert second.backend.folder.is_holder
            first.probe()
            assert not first.backend.folder.is_holder
            assert first.load(*range(4)) == [*range(4)]
            assert not second.backend.folder.is_alone()


def test_removed_folder_is_not_created_on_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_backend, "_MISSED_SECONDS", 0.0)
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        # As if the file system had been unmounted: its place is a folder of another one.
        (tmp_path / "kv").rename(tmp_path / "unmounted")
        monkeypatch.setattr(disk.backend.folder, "_device", -1)
        with pytest.raises(FileNotFoundError, match="not mounted"):
            disk.probe()
        assert not (tmp_path / "kv").exists()
        monkeypatch.setattr(disk.backend.folder, "_device", tmp_path.stat().st_dev)
        (tmp_path / "unmounted").rename(tmp_path / "kv")
        until(lambda: disk.tier.stats().state == "ok")
        assert disk.load(1) == [1]


def test_quota_below_the_bound_keeps_the_newest_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "kv") as disk:
        real = os.posix_fallocate

        def within_quota(descriptor: int, start: int, nbytes: int) -> None:
            if len(disk.files()) >= 5:
                raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
            real(descriptor, start, nbytes)

        monkeypatch.setattr(os, "posix_fallocate", within_quota)
        assert all(disk.put(*range(20)))
        assert disk.load(*range(20)) == [*range(15, 20)]
        assert disk.tier.stats().refusal == ""
        assert list((tmp_path / "kv").rglob("*.draft")) == []


def test_quota_breaks_no_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    with opened(tmp_path / "kv") as disk:
        disk.put(*range(3))
        assert disk.promise(*range(3)) == Promised(3, None)
        monkeypatch.setattr(os, "posix_fallocate", refuse)
        assert disk.put(9) == [False]
        assert "quota" in disk.tier.stats().refusal.lower()
        assert disk.load(*range(3)) == [*range(3)]


def test_files_are_left_to_others_as_bytes_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "kv") as disk:
        found = os.statvfs(tmp_path)

        def with_few_files(_: object) -> os.statvfs_result:
            # 5 of 100 files stay free, and 92 are of others.
            return os.statvfs_result((*found[:5], 100, 8 - len(disk.files()), 8 - len(disk.files()), *found[8:]))

        monkeypatch.setattr(os, "statvfs", with_few_files)
        assert all(disk.put(*range(10)))
        assert disk.load(*range(10)) == [7, 8, 9]
        assert disk.tier.stats().refusal == ""


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
def test_file_system_that_cannot_reserve_holds_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with opened(tmp_path / "kv") as disk:
        assert disk.put(1) == [True]
        assert disk.load(1) == [1]
        assert disk.tier.stats().state == "ok"


def test_use_corrects_the_time_of_a_clock_that_was_ahead(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        os.utime(disk.file(1), (time.time() + 1e9,) * 2)
    with opened(tmp_path / "kv") as disk:
        assert disk.load(1) == [1]
        assert abs(disk.file(1).stat().st_mtime - time.time()) < 100


def test_file_system_that_rounds_times_gives_no_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, day = os.utime, 24 * 3600.0

    def round_access(path: Any, times: tuple[float, float]) -> None:
        real(path, (times[0] // day * day, times[1] // 2 * 2))

    monkeypatch.setattr(os, "utime", round_access)
    with opened(tmp_path / "kv") as disk:
        disk.put(1, 2)
        assert disk.promise(1, 2) == Promised(0, "no_tier")
        assert disk.load(1, 2) == [1, 2]


def test_folders_of_models_that_are_gone_are_removed(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        model = tmp_path / "kv" / ("ab" * 16)
        (model / "00").mkdir(parents=True)
        os.utime(model / "00", (LONG_AGO,) * 2)
    with opened(tmp_path / "kv") as disk:
        until(lambda: not model.exists())
        assert disk.load(1) == [1]


def test_bytes_count_where_the_file_system_counts_no_blocks() -> None:
    assert disk_bytes(Mock(st_size=FILE, st_blocks=0)) == FILE


def test_names_in_capitals_are_no_values(tmp_path: Path) -> None:
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        disk.file(1).with_name(key(2).hex().upper()).write_bytes(bytes(FILE))
    with opened(tmp_path / "kv", 10 * FILE) as disk:
        disk.probe()
        assert disk.backend._room is not None
        assert disk.backend._room.index.used_bytes == FILE


def test_locks_that_could_not_be_opened_are_opened_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_backend, "_MISSED_SECONDS", 0.0)
    with opened(tmp_path / "kv") as disk:
        disk.put(1)
        (tmp_path / "kv").rename(tmp_path / "moved")

        def full(_self: DiskFolder, _name: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(DiskFolder, "_open", full)
            with pytest.raises(OSError, match="No space left"):
                disk.probe()
        disk.probe()
        until(lambda: disk.put(2) == [True])
        assert disk.backend.folder.is_holder
