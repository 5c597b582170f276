"""Faults of Redis while chats return: no answer changes, nothing leaks, and other streams continue.

Each fault is checked for four invariants:

- Every answer equals that of an engine without tiers.
- Afterwards no block, lock or slot is held.
- No stream ends or fails.
- Gaps between the tokens of the streams stay within 1.5 times the gaps while the same chats are computed.

Blocking calls on Redis run in another thread, because the engine's event loop must continue.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bench.slow_link import FAST, SlowLink
from cache_tiers.config import DiskConfig
from cache_tiers.lower.sealed_value import HEADER_BYTES
from engine.config import EngineConfig
from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.faults.conftest import Line, Table
from tests.faults.scene import ANSWER, Answer, Outcome, Scene, Strike, bring_chats_back, chat
from tests.faults_disk.disk import Disk
from tests.integration.engine_rig import MIB, engine_config
from tests.leaks import assert_no_leaks
from tests.redis_server import RedisServer
from tests.waiting import until

MAX_GAP_RATIO = 1.5
BLOCKS = 200
TWO_BLOCKS = 3 * MIB


class Broken:
    """Parts that a fault can act on. There is a disk only if the scene has one."""

    def __init__(self, scene: Scene, redis: RedisServer, link: SlowLink, disk: Disk | None) -> None:
        self.scene = scene
        self.redis = redis
        self.link = link
        self._disk = disk

    @property
    def disk(self) -> Disk:
        """The disk."""
        assert self._disk is not None
        return self._disk


@asynccontextmanager
async def opened(config: EngineConfig) -> AsyncIterator[AsyncLLMEngine]:
    engine = await asyncio.to_thread(build_engine, config.with_fields(decode_passes=1), lambda _: None)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop(5.0)


def on_disk(config: EngineConfig, disk: Disk) -> EngineConfig:
    """Return the configuration of an engine that keeps blocks on a disk too."""
    assert config.cache.tiers is not None
    tiers = replace(config.cache.tiers, disk=DiskConfig(disk.folder / "kv", 512 * MIB))
    return replace(config, cache=replace(config.cache, tiers=tiers))


async def compute_all(model_path: Path, folder: Path) -> Outcome:
    """Run the same scene three times without tiers, and return the last outcome.

    The first run teaches the engine the cost of steps.
    """
    async with opened(engine_config(model_path, folder, blocks=BLOCKS, prefix_cache=False)) as engine:
        scene = Scene(engine)
        outcomes = [await bring_chats_back(scene, nothing) for _ in range(3)]
    return outcomes[-1]


async def nothing(_scene: Scene, _number: int, _task: "asyncio.Task[Answer]") -> None:
    """Strike with no fault."""


async def loading(scene: Scene, task: "asyncio.Task[Answer]") -> None:
    """Wait until a load is in flight, or until the answer is complete without one."""
    await scene.until(lambda: scene.scheduler.num_loading > 0 or task.done())


async def check_fault(
    name: str,
    model_path: Path,
    tmp_path: Path,
    table: Table,
    make: Callable[[Broken], Strike],
    *,
    cpu_memory: int = 256 * MIB,
    settled: bool = True,
    most_gap_ratio: float = MAX_GAP_RATIO,
    disk: Disk | None = None,
) -> Outcome:
    folder = tmp_path / "redis"
    folder.mkdir()
    redis = RedisServer(folder)
    try:
        with SlowLink(tmp_path / "link", redis.socket) as link:
            url = f"unix://{tmp_path / 'link'}"
            config = engine_config(model_path, tmp_path / "state", blocks=BLOCKS, cpu_memory=cpu_memory, redis_url=url)
            async with opened(config if disk is None else on_disk(config, disk)) as engine:
                scene = Scene(engine)
                await scene.leave_chats_below(settled=settled)
                outcome = await bring_chats_back(scene, make(Broken(scene, redis, link, disk)))
                if disk is not None:
                    disk.be("ok")
                redis.thaw()
                link.set(0.0, FAST)
                await scene.until(lambda: engine.is_idle)
                await scene.until(lambda: engine.stats().blocks.used == 0)
                assert_no_leaks(engine._engine)
    finally:
        redis.kill()
    # Measure right after the fault, because the machine's speed can change within a minute.
    computed = await compute_all(model_path, tmp_path / "computed")
    wrong = sum(mine != theirs for mine, theirs in zip(outcome.answers, computed.answers, strict=True))
    line = Line(
        name,
        len(outcome.answers),
        wrong,
        outcome.restored,
        outcome.p99_gap / computed.p99_gap,
        outcome.worst_ttft * 1e3,
        computed.worst_ttft * 1e3,
    )
    table.lines.append(line)
    assert wrong == 0
    assert line.gap_ratio <= most_gap_ratio
    return outcome


def no_fault(_broken: Broken) -> Strike:
    return nothing


def killed_in_a_restore(broken: Broken) -> Strike:
    async def strike(scene: Scene, number: int, task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await loading(scene, task)
            await asyncio.to_thread(broken.redis.kill)
        if number == 3:
            await asyncio.to_thread(broken.redis.start)

    return strike


def frozen_before_the_look_up(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            broken.redis.freeze()
        if number == 3:
            broken.redis.thaw()

    return strike


def frozen_in_a_load(broken: Broken) -> Strike:
    async def strike(scene: Scene, number: int, task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await loading(scene, task)
            broken.redis.freeze()
        if number == 3:
            broken.redis.thaw()

    return strike


def frozen_in_a_store(broken: Broken) -> Strike:
    async def strike(scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            new = asyncio.create_task(scene.ask(chat(90), 1))
            await scene.until(lambda: not scene.is_settled() or new.done())
            broken.redis.freeze()
            await new
        if number == 3:
            broken.redis.thaw()

    return strike


def slow(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            broken.link.set(0.05, 2e6)

    return strike


def cut_in_a_value(broken: Broken) -> Strike:
    async def strike(scene: Scene, number: int, task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            broken.link.set(0.0, 30e6)
            await loading(scene, task)
            broken.link.cut()
            broken.link.set(0.0, FAST)

    return strike


def full_and_refusing(broken: Broken) -> Strike:
    return configured(broken, maxmemory="1mb", maxmemory_policy="noeviction")


def full_and_evicting(broken: Broken) -> Strike:
    return configured(broken, maxmemory="40mb", maxmemory_policy="allkeys-lru")


def wrong_password(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await asyncio.to_thread(change)

    def change() -> None:
        with broken.redis.client() as client:
            client.config_set("requirepass", "changed")
            client.client_kill_filter(_type="normal", skipme=True)

    return strike


def configured(broken: Broken, **settings: str) -> Strike:
    async def strike(scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await asyncio.to_thread(change)
            await scene.ask(chat(91), 1)

    def change() -> None:
        with broken.redis.client() as client:
            for name, value in settings.items():
                client.config_set(name.replace("_", "-"), value)

    return strike


def became_a_replica(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number in (1, 3):
            await asyncio.to_thread(change, ("127.0.0.1", "1") if number == 1 else ("NO", "ONE"))

    def change(master: tuple[str, str]) -> None:
        with broken.redis.client() as client:
            client.replicaof(*master)

    return strike


def cannot_save(broken: Broken) -> Strike:
    snapshot = broken.redis.folder / "dump.rdb"

    async def strike(scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            snapshot.mkdir()
            await asyncio.to_thread(save, "err")
            await scene.ask(chat(93), 1)
        if number == 3:
            snapshot.rmdir()
            await asyncio.to_thread(save, "ok")

    def save(status: str) -> None:
        with broken.redis.client() as client:
            client.config_set("save", "3600 1")
            client.bgsave()
            until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == status)

    return strike


def lacks_its_replicas(broken: Broken) -> Strike:
    return configured(broken, min_replicas_to_write="1")


def denies_lookups(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number in (1, 3):
            await asyncio.to_thread(change, "-exists" if number == 1 else "+exists")

    def change(right: str) -> None:
        with broken.redis.client() as client:
            client.acl_setuser("default", enabled=True, nopass=True, commands=[right])

    return strike


def flushed(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await asyncio.to_thread(flush)

    def flush() -> None:
        with broken.redis.client() as client:
            client.flushall()

    return strike


def poisoned(broken: Broken) -> Strike:
    source = random.Random(5)

    def change(value: bytes) -> bytes:
        at = source.randrange(HEADER_BYTES, len(value))
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]

    return rewritten(broken, change)


def of_an_older_version(broken: Broken) -> Strike:
    return rewritten(broken, lambda value: value[:4] + b"\x01\x00" + value[6:])


def rewritten(broken: Broken, change: Callable[[bytes], bytes]) -> Strike:
    with broken.redis.client() as client:
        for name in client.keys("ebb:kv:*"):
            value = client.get(name)
            assert isinstance(value, bytes)
            client.set(name, change(value))
    return nothing


def restarted_with_old_data(broken: Broken) -> Strike:
    with broken.redis.client() as client:
        client.save()

    async def strike(scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await scene.ask(chat(92), 1)
            await asyncio.to_thread(broken.redis.kill)
            await asyncio.to_thread(broken.redis.start)

    return strike


FAULTS = [
    ("nothing is wrong", no_fault),
    ("killed in the middle of a restore, back two chats later", killed_in_a_restore),
    ("frozen before a look-up, back two chats later", frozen_before_the_look_up),
    ("frozen in a load, back two chats later", frozen_in_a_load),
    ("frozen in a store, back two chats later", frozen_in_a_store),
    ("from one second to the next 2 MB/s and 50 ms", slow),
    ("network cut in the middle of a value", cut_in_a_value),
    ("full, refusing (noeviction)", full_and_refusing),
    ("full, evicting (allkeys-lru)", full_and_evicting),
    ("becomes a replica, a master again two chats later", became_a_replica),
    ("cannot save its snapshot until two chats later", cannot_save),
    ("lacks the replicas that it needs to write", lacks_its_replicas),
    ("denies EXISTS to the account until two chats later", denies_lookups),
    ("FLUSHALL between turns", flushed),
    ("every value poisoned", poisoned),
    ("every value of an older version", of_an_older_version),
    ("killed and restarted with an older snapshot", restarted_with_old_data),
    ("password changed", wrong_password),
]


@pytest.mark.parametrize(("name", "make"), FAULTS, ids=[name for name, _ in FAULTS])
async def test_redis_fault_costs_only_time(
    name: str,
    make: Callable[[Broken], Strike],
    model_path: Path,
    tmp_path: Path,
    table: Table,
) -> None:
    outcome = await check_fault(name, model_path, tmp_path, table, make)
    assert all(len(answer) == ANSWER for answer in outcome.answers)


async def test_cpu_tier_of_two_blocks_costs_only_time(model_path: Path, tmp_path: Path, table: Table) -> None:
    name = "a CPU tier of two blocks"
    await check_fault(name, model_path, tmp_path, table, no_fault, cpu_memory=TWO_BLOCKS, settled=False)
