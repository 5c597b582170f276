"""`ebb cache` on a real Redis and a real disk, with blocks written by real tiers."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app.cli.main import main
from cache_tiers.disk.backend import DiskBackend
from cache_tiers.disk.folder import folder_of
from cache_tiers.disk.value_file import PAGE
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.keys import redis_key
from engine.cpu.pack_folder import PackFolder
from tests.redis_server import RedisServer
from tests.store_rig import BLOCK, SEAL, SECRET, Rig, Rigs, key, keys, payload
from tests.tier_results import Results

pytest_plugins = ["tests.store_fixtures"]


@pytest.fixture
def flags(redis_server: RedisServer, rigs: Rigs, tmp_path: Path) -> list[str]:
    """Command-line flags for a Redis with eight blocks and one key of another application."""
    rig: Rig = rigs.open(redis_server.address)
    rig.put(keys(range(8)))
    assert rig.store.flush(10)
    with redis_server.client() as client:
        client.set("somebody else's", "x")
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "secret").chmod(0o600)
    return [
        *("--redis-url", f"unix://{redis_server.socket}", "--secret-file", str(tmp_path / "secret")),
        *("--disk-kv-dir", str(tmp_path / "kv"), "--disk-kv-size", "1GiB"),
        *("--cache-dir", str(tmp_path / "cache")),
    ]


@pytest.fixture
def disk(flags: list[str], tmp_path: Path) -> Iterator[Path]:
    """Return the folder of five blocks of the same server, which holds it, and an unfinished write."""
    folder = folder_of(tmp_path / "kv", SECRET)
    tier = AsyncTier(DiskBackend(folder, 1 << 30, kept_free=0), LowerTierOptions(BLOCK, 1 << 20, SEAL, Owners()))
    results = Results[bool]()
    tier.put([Block(name, memoryview(payload(name))) for name in keys(range(5))], results)
    assert results.wait(1) == [True]
    (file_of(folder, 0).parent / f"{'0' * 64}.1234.draft").touch()
    yield folder
    tier.close()


def file_of(folder: Path, number: int) -> Path:
    name = key(number).hex()
    return folder / SEAL.fingerprint.hex() / name[-2:] / name


def test_stat_counts_the_blocks(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "stat", *flags]) == 0
    assert "\n8 KV blocks, 512.8 KiB\n" in capsys.readouterr().out


def test_verify_finds_damaged_mistyped_and_misplaced_blocks(
    flags: list[str], redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "verify", *flags]) == 0
    assert "8 blocks in" in capsys.readouterr().out
    with redis_server.client() as client:
        client.setrange(redis_key(key(3)), 5000, b"damaged")
        client.delete(redis_key(key(4)))
        client.lpush(redis_key(key(4)), "a list")
        client.copy(redis_key(key(6)).decode(), redis_key(key(5)).decode(), replace=True)
    assert main(["cache", "verify", *flags]) == 1
    out = capsys.readouterr().out
    assert "5 blocks in" in out
    assert "3 are not" in out
    for reason in ("damaged", "not hold a string", "another key"):
        assert reason in out


def test_clear_deletes_only_the_blocks(
    flags: list[str], redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "clear", *flags]) == 0
    assert "deleted 8 KV blocks" in capsys.readouterr().out
    with redis_server.client() as client:
        assert client.keys() == [b"somebody else's"]


def test_stat_counts_the_blocks_on_the_disk(flags: list[str], disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "stat", *flags]) == 0
    out = capsys.readouterr().out
    assert f"the disk, {disk}: 340 KiB of 1 GiB used\n5 KV blocks, 340 KiB\n  5 of model" in out
    assert "\n8 KV blocks" in out


def test_verify_finds_damaged_misplaced_cut_and_long_files(
    flags: list[str], disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used_at = file_of(disk, 0).stat().st_mtime_ns
    assert main(["cache", "verify", *flags]) == 0
    assert f"5 blocks in {disk} are intact, 0 are not" in capsys.readouterr().out
    assert file_of(disk, 0).stat().st_mtime_ns == used_at
    with file_of(disk, 1).open("r+b") as file:
        file.seek(PAGE + 5000)
        file.write(b"damaged")
    os.truncate(file_of(disk, 2), PAGE)
    file_of(disk, 3).write_bytes(file_of(disk, 0).read_bytes())
    with file_of(disk, 4).open("ab") as file:
        file.write(b"x")
    assert main(["cache", "verify", *flags]) == 1
    out = capsys.readouterr().out
    assert f"1 blocks in {disk} are intact, 4 are not" in out
    for line in ("1: damaged", "2: wrong length", "1: the value of another key"):
        assert line in out


def test_clear_deletes_only_files_of_blocks_of_this_secret(
    flags: list[str], disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = file_of(folder_of(disk.parent, b"another secret"), 0)
    foreign.parent.mkdir(parents=True)
    foreign.touch()
    assert main(["cache", "clear", *flags]) == 0
    assert "the disk: deleted 5 KV blocks" in capsys.readouterr().out
    assert {path.name for path in disk.rglob("*") if path.is_file()} == {"CACHEDIR.TAG", "held", "shared", "times"}
    assert foreign.exists()


def test_disk_that_was_turned_off_can_still_be_cleared(
    flags: list[str], disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "clear", *flags, "--disk-kv-size", "0"]) == 0
    assert "the disk: deleted 5 KV blocks" in capsys.readouterr().out


def test_disk_is_inspected_while_no_redis_answers(
    flags: list[str], disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "stat", *flags, "--redis-url", f"unix://{tmp_path}/none.sock"]) == 0
    found = capsys.readouterr()
    assert "5 KV blocks" in found.out
    assert found.err.startswith("Redis: no Redis answers at")


def test_folder_that_cannot_be_read_is_reported(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kv").touch()
    assert main(["cache", "stat", *flags]) == 0
    assert "the disk: the folder" in capsys.readouterr().err


def test_command_without_a_tier_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = ["--state-dir", str(tmp_path), "--cache-dir", str(tmp_path)]
    assert main(["cache", "stat", *state]) == 1
    error = capsys.readouterr().err
    assert "Start `ebb serve` with the same --state-dir" in error
    assert f"there is no secret file {tmp_path / 'secret'}" in error
    assert list(tmp_path.iterdir()) == []
    assert main(["cache", "stat", *state, "--redis-url", "off", "--disk-kv-size", "0"]) == 1
    assert "every tier is off" in capsys.readouterr().err


@pytest.fixture
def packs(tmp_path: Path) -> PackFolder:
    """Return the folder of one model's packed weights."""
    folder = PackFolder(tmp_path / "cache")
    panels = np.arange(3 << 20, dtype=np.uint64).view(np.uint8)
    assert folder.keep(identity="{}", label="tiny", vectors=[], panels=panels, wait=lambda: False)
    return folder


def test_packed_weights_are_listed_checked_and_deleted(
    packs: PackFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    off = ["--redis-url", "off", "--disk-kv-size", "0", "--cache-dir", str(tmp_path / "cache"), "--packed-size", "1GiB"]
    assert main(["cache", "stat", *off]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"packed weights, {packs.path}: 26 MiB of 1 GiB used"
    assert lines[1].startswith("  tiny: 26 MiB, last mapped on ")
    assert main(["cache", "verify", *off]) == 0
    assert f"1 files in {packs.path} are intact, 0 are not" in capsys.readouterr().out
    (pack,) = packs.packs()
    with pack.path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write(b"\1")
    assert main(["cache", "verify", *off]) == 1
    assert f"  {pack.path}: it is damaged" in capsys.readouterr().out
    assert main(["cache", "clear", *off]) == 0
    assert packs.packs() == []
