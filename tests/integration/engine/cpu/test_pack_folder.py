"""The folder of packed weights: bounded, shared by processes, and without unfinished files."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cache_tiers.disk.space import DiskSpace
from engine.cpu import pack_folder
from engine.cpu.pack_file import PackError, PackStoppedError
from engine.cpu.pack_folder import NoRoomError, PackFolder, StoredPack

SIZE = 3 << 20
ROOM = 5 << 20
"""Bytes of a file with SIZE bytes of panels, which begin with a huge page."""


def panels(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, SIZE + 64, np.uint8)


def keep(folder: PackFolder, name: str, *, is_damaged: bool = False) -> bool:
    return folder.keep(
        identity=name,
        label=name,
        vectors=[np.arange(5, dtype=np.float32), np.array([7.5], np.float32)],
        panels=panels(len(name)),
        wait=lambda: False,
        is_damaged=is_damaged,
    )


def labels(folder: PackFolder) -> list[str]:
    return [pack.label for pack in folder.packs()]


def use(folder: PackFolder, name: str, time: int) -> None:
    """Open a pack and set the time of its last use."""
    assert folder.open(name) is not None
    (pack,) = [pack for pack in folder.packs() if pack.label == name]
    os.utime(pack.path, (time, time))


def test_pack_has_the_kept_bytes(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    assert folder.open("a") is None
    assert keep(folder, "a")
    pack = folder.open("a")
    assert pack is not None
    assert [vector.tolist() for vector in pack.vectors] == [[0, 1, 2, 3, 4], [7.5]]
    assert pack.panels == SIZE + 64
    assert pack.address % 64 == 0
    assert bytes(pack._mapped[-pack.panels :]) == panels(1).tobytes()


def test_least_recently_used_packs_make_room(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path, 3 * ROOM)
    for time, name in enumerate(("a", "bb", "ccc")):
        keep(folder, name)
        use(folder, name, 1000 + time)
    use(folder, "a", 2000)
    assert keep(folder, "dddd")
    assert labels(folder) == ["ccc", "a", "dddd"]


def test_opening_a_pack_is_a_use(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    keep(folder, "a")
    use(folder, "a", 1000)
    folder.open("a")
    assert folder.packs()[0].used > 1000


@pytest.mark.parametrize(
    ("limit", "free"), [(SIZE, 1 << 40), (None, 4 * SIZE), (1 << 40, 2 * SIZE)], ids=["bound", "share", "disk"]
)
def test_pack_without_room_deletes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int | None, free: int
) -> None:
    keep(PackFolder(tmp_path), "a")
    monkeypatch.setattr(pack_folder, "space_of", lambda _: DiskSpace(free + (2 << 30), free, is_read_only=False))
    folder = PackFolder(tmp_path, limit)
    with pytest.raises(NoRoomError):
        keep(folder, "bb")
    assert labels(folder) == ["a"]


def test_second_writer_of_a_pack_writes_nothing(tmp_path: Path) -> None:
    keep(PackFolder(tmp_path), "a")
    (before,) = PackFolder(tmp_path).packs()
    assert not keep(PackFolder(tmp_path), "a")
    assert PackFolder(tmp_path).packs() == [before]


def test_damaged_pack_is_replaced(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    keep(folder, "a")
    (pack,) = folder.packs()
    with pack.path.open("r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"noise")
    with pytest.raises(PackError, match="damaged"):
        folder.open("a")
    assert keep(folder, "a", is_damaged=True)
    assert folder.open("a") is not None


def test_pack_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    keep(folder, "a")
    (first,) = folder.packs()
    keep(folder, "bb")
    (second,) = [pack for pack in folder.packs() if pack.label == "bb"]
    first.path.replace(second.path)
    with pytest.raises(PackError, match="other weights"):
        folder.open("bb")


@pytest.mark.parametrize("error", [PackStoppedError(), OSError(errno.ENOSPC, "No space left on device")], ids=repr)
def test_stopped_or_failed_write_leaves_no_file(tmp_path: Path, error: Exception) -> None:
    def fail() -> bool:
        raise error

    folder = PackFolder(tmp_path)
    with pytest.raises(type(error)):
        folder.keep(identity="a", label="a", vectors=[], panels=panels(1), wait=fail)
    assert [path.name for path in folder.path.iterdir()] == ["lock"]


def test_draft_of_a_killed_writer_is_deleted(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    folder.path.mkdir()
    draft = folder.path / "0123.draft"
    draft.write_bytes(b"unfinished")
    assert folder.packs() == []
    keep(folder, "a")
    assert not draft.exists()


def test_mapped_pack_outlives_its_file(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    keep(folder, "a")
    pack = folder.open("a")
    assert pack is not None
    assert folder.clear() == 1
    assert folder.packs() == []
    assert bytes(pack._mapped[-pack.panels :]) == panels(1).tobytes()


def test_unreadable_file_is_listed_and_cleared(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    folder.path.mkdir()
    file = folder.path / "0123.pack"
    file.write_bytes(b"noise")
    assert folder.packs() == [StoredPack(file, "", 5, file.stat().st_mtime)]
    assert folder.clear() == 1


def test_files_belong_to_this_user_alone(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    keep(folder, "a")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.path.iterdir()} == {0o600}
