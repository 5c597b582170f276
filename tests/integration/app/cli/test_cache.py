"""`ebb cache` on a real Redis with blocks written by a real store."""

from pathlib import Path

import pytest

from app.cli.main import main
from cache_tiers.redis.keys import redis_key
from tests.redis_server import RedisServer
from tests.store_rig import SECRET, Rig, Rigs, key, keys

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
    return ["--redis-url", f"unix://{redis_server.socket}", "--secret-file", str(tmp_path / "secret")]


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


def test_command_without_redis_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "stat", "--state-dir", str(tmp_path)]) == 1
    assert "Start `ebb serve` with the same --state-dir" in capsys.readouterr().err
    assert main(["cache", "stat", "--redis-url", "off"]) == 1
    assert "Redis is off" in capsys.readouterr().err
