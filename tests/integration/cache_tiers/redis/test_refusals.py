"""A Redis that refuses commands: after a fail-over, with a failing disk, full, or under an account with few rights."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis

from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.misses import TierMissReason
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.keys import redis_key
from tests.redis_server import RedisServer
from tests.store_rig import redis_tier
from tests.tier_results import Results
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

BLOCK = 1 << 16
NEEDED = ("+exists", "+get", "+getex", "+set", "+expire", "+unlink")


def key(number: int) -> bytes:
    return bytes([number]) * 32


def put(client: AsyncTier, number: int) -> bool:
    results = Results[bool]()
    client.put([Block(key(number), memoryview(bytearray([number]) * BLOCK))], results)
    return results.wait(1)[0]


def find(client: AsyncTier, number: int) -> bool:
    results = Results[list[bool]]()
    client.find([key(number)], results)
    return results.wait(1)[0][0]


def load(client: AsyncTier, number: int) -> bool:
    target = memoryview(bytearray(BLOCK))
    results = Results[list[bool]]()
    client.load([Block(key(number), target)], results)
    [loaded] = results.wait(1)[0]
    return loaded and bytes(target) == bytes([number]) * BLOCK


@dataclass(frozen=True)
class Refusal:
    """A condition under which Redis refuses writes.

    begin, end: make the condition, and remove it.
    """

    reply: str
    begin: Callable[[redis.Redis, Path], object]
    end: Callable[[redis.Redis, Path], object]


def fail_to_save(client: redis.Redis, folder: Path) -> None:
    (folder / "dump.rdb").mkdir()
    client.config_set("save", "3600 1")
    client.bgsave()
    until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")


def save_again(client: redis.Redis, folder: Path) -> None:
    (folder / "dump.rdb").rmdir()
    client.bgsave()
    until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "ok")


REFUSALS = [
    Refusal(
        "READONLY",
        lambda client, _: client.replicaof("127.0.0.1", "1"),
        lambda client, _: client.replicaof("NO", "ONE"),
    ),
    Refusal("MISCONF", fail_to_save, save_again),
    Refusal(
        "NOREPLICAS",
        lambda client, _: client.config_set("min-replicas-to-write", 1),
        lambda client, _: client.config_set("min-replicas-to-write", 0),
    ),
    Refusal(
        "OOM",
        lambda client, _: client.config_set("maxmemory", "1mb"),
        lambda client, _: client.config_set("maxmemory", 0),
    ),
]


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[AsyncTier]:
    client = redis_tier(redis_server.address, max_write_bytes=64 * BLOCK)
    yield client
    client.close()


@pytest.mark.parametrize("refusal", REFUSALS, ids=[each.reply for each in REFUSALS])
def test_refused_writes_leave_reads_and_are_made_later(
    redis_server: RedisServer, client: AsyncTier, tmp_path: Path, refusal: Refusal
) -> None:
    assert put(client, 1)
    with redis_server.client() as other:
        refusal.begin(other, tmp_path)
        assert not put(client, 2)
        assert client.stats().refusal.startswith(f"SET: {refusal.reply}")
        assert find(client, 1)
        assert load(client, 1)
        assert not load(client, 2)
        miss = client.miss_of(key(2))
        assert miss is not None
        assert miss.reason is TierMissReason.UNWRITTEN
        assert refusal.reply in miss.text
        assert client.stats().state == "ok"
        assert client.take_missed(8) == [], "a block cannot be written again before Redis accepts writes"
        refusal.end(other, tmp_path)
        until(lambda: not client.stats().refusal)
        assert client.take_missed(8) == [key(2)]
        assert put(client, 2)
        assert load(client, 2)


def test_refusal_is_noticed_and_ends_without_traffic(redis_server: RedisServer, client: AsyncTier) -> None:
    with redis_server.client() as other:
        other.config_set("min-replicas-to-write", 1)
        until(lambda: client.stats().refusal.startswith("SET: NOREPLICAS"))
        other.config_set("min-replicas-to-write", 0)
        until(lambda: not client.stats().refusal)


def test_address_that_leads_to_another_server_is_followed(tmp_path: Path) -> None:
    """After a fail-over behind one address, the connections that are open still lead to the former master."""
    former, new = (RedisServer(make_folder(tmp_path / name)) for name in ("a", "b"))
    address = tmp_path / "address"
    address.symlink_to(former.socket)
    client = redis_tier(RedisAddress(unix_path=address), max_write_bytes=64 * BLOCK)
    try:
        assert put(client, 1)
        with former.client() as other:
            other.replicaof("127.0.0.1", "1")
        address.unlink()
        address.symlink_to(new.socket)
        assert not put(client, 2)
        until(lambda: not client.stats().refusal)
        assert put(client, 2)
        with new.client() as other:
            assert other.exists(redis_key(key(2)))
    finally:
        client.close()
        former.kill()
        new.kill()


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_refused_renewal_says_nothing_about_the_blocks(redis_server: RedisServer) -> None:
    client = redis_tier(redis_server.address, max_write_bytes=64 * BLOCK, renew_seconds=0.0)
    try:
        assert put(client, 1)
        with redis_server.client() as other:
            other.config_set("min-replicas-to-write", 1)
            client.renew([key(1)])
            until(lambda: not client.may_miss_more)
        assert client.num_known([key(1)]) == 1
        assert client.num_missed == 0
    finally:
        client.close()


@dataclass(frozen=True)
class Account:
    """Rights of an account, and what the tier says."""

    rights: tuple[str, ...]
    state: str = "ok"
    refusal: str = ""


def without(*commands: str) -> tuple[str, ...]:
    return tuple(each for each in NEEDED if each not in commands)


ACCOUNTS = {
    "all": Account(NEEDED),
    "no EXISTS": Account(without("+exists"), state="Redis refuses EXISTS: NOPERM"),
    "no GETEX": Account(without("+getex")),
    "neither GETEX nor GET": Account(without("+getex", "+get"), state="Redis refuses GET: NOPERM"),
    "no SET": Account(without("+set"), refusal="SET: NOPERM"),
    "no EXPIRE": Account(without("+expire"), refusal="EXPIRE: NOPERM"),
    "no UNLINK": Account(without("+unlink"), refusal="UNLINK: NOPERM"),
}


@pytest.mark.parametrize("name", ACCOUNTS)
def test_account_with_few_rights_is_reported_by_its_command(redis_server: RedisServer, name: str) -> None:
    account = ACCOUNTS[name]
    with redis_server.client() as other:
        other.acl_setuser("ebb", enabled=True, passwords=["+secret"], keys=["ebb:kv:*"], commands=list(account.rights))
    address = replace(redis_server.address, username="ebb", password="secret")
    client = redis_tier(address, max_write_bytes=64 * BLOCK)
    try:
        assert client.stats().state.startswith(account.state)
        assert client.stats().refusal.startswith(account.refusal)
        assert put(client, 1) is (account.state == "ok" and not account.refusal)
    finally:
        client.close()


def test_renamed_lookup_command_is_reported(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--rename-command", "EXISTS", "")
    client = redis_tier(server.address, max_write_bytes=64 * BLOCK)
    try:
        assert client.stats().state.startswith("Redis refuses EXISTS: ERR unknown command")
    finally:
        client.close()
        server.kill()


def test_node_of_a_cluster_is_reported(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--cluster-enabled", "yes")
    client = redis_tier(server.address, max_write_bytes=64 * BLOCK)
    try:
        assert client.stats().state.startswith("Redis refuses EXISTS: C")
        with server.client() as other:
            other.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)  # type: ignore[no-untyped-call]
        until(lambda: "CROSSSLOT" in client.stats().state)
    finally:
        client.close()
        server.kill()
