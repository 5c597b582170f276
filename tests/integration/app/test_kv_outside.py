"""The KV of a chat stays in the server: no run of its K and V is in the disk, in Redis or in an exported chat."""

import base64
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import aiohttp
import numpy as np
import pytest

from engine.loop.async_llm import AsyncLLMEngine
from engine.offload.connector import OffloadConnector
from tests.integration.conversations_client import created, said
from tests.integration.engine_rig import MIB, engine_config
from tests.integration.real_server import serving, settled
from tests.redis_server import RedisServer
from tests.sizes import Size

pytest_plugins = ["tests.store_fixtures"]

TEXT: Final = "Tell me about rivers, lakes and the sea, please. " * 30
RUN_BYTES: Final = 32
WORD: Final = np.dtype("<u8")
MANY_VALUES: Final = 20
"""Different bytes of a run of K or V. Others, such as zeros, may occur anywhere."""


def runs_of_kv(engine: AsyncLLMEngine, count: int) -> list[bytes]:
    """Return `count` random runs of the K and V that CPU memory holds."""
    connector = engine._engine.core.scheduler.connector
    assert isinstance(connector, OffloadConnector)
    pool, source = bytes(connector.tiers.store.pool), random.Random(0)
    pages = [at for at in range(0, len(pool) - 4096, 4096) if any(pool[at : at + RUN_BYTES])]
    runs = set[bytes]()
    while len(runs) < count:
        begin = source.choice(pages) + source.randrange(4096 - RUN_BYTES)
        run = pool[begin : begin + RUN_BYTES]
        if len(set(run)) >= MANY_VALUES:
            runs.add(run)
    return [*runs]


def as_text(run: bytes) -> list[bytes]:
    """Return the forms in which a text could have a run: hexadecimal, and Base64 at each of its three phases."""
    return [run.hex().encode(), *(base64.b64encode(run[phase : phase + 30]) for phase in range(3))]


def num_found(canaries: Sequence[bytes], places: Iterable[bytes]) -> int:
    """Return how many of the canaries occur in any of `places`."""
    by_word = defaultdict[int, list[bytes]](list)
    for canary in canaries:
        by_word[int.from_bytes(canary[:8], "little")].append(canary)
    words, found = np.array([*by_word], WORD), set[bytes]()
    for place in places:
        for phase in range(8):
            at_phase = np.frombuffer(place[phase : phase + (len(place) - phase) // 8 * 8], WORD)
            for index in np.flatnonzero(np.isin(at_phase, words)):
                begin = phase + 8 * int(index)
                found.update(each for each in by_word[int(at_phase[index])] if place.startswith(each, begin))
    return len(found)


async def exported(http: aiohttp.ClientSession, chat: str) -> list[bytes]:
    """Return the exports of a chat in each format, and of all chats."""
    paths = [f"/api/conversations/{chat}/export?format={each}" for each in ("json", "markdown", "text")]
    files = list[bytes]()
    for path in (*paths, "/api/export"):
        response = await http.get(path)
        assert response.status == 200, await response.text()
        files.append(await response.read())
    return files


async def test_nothing_outside_the_server_has_a_run_of_kv(
    shallow_model: Path, tmp_path: Path, redis_server: RedisServer, size: Size
) -> None:
    url = f"unix://{redis_server.socket}"
    config = engine_config(shallow_model, tmp_path / "state", cpu_memory=64 * MIB, redis_url=url, disk=True)
    async with serving(config, tmp_path) as (http, engine):
        chat = await created(http)
        await said(http, chat, TEXT, params={"max_tokens": 2})
        await said(http, chat, "And the mountains?", params={"max_tokens": 2})
        await settled(engine)
        runs = runs_of_kv(engine, size.pick(small=1_000, full=10_000))
        exports = await exported(http, chat)
    disk = [path.read_bytes() for path in (tmp_path / "state" / "kv").rglob("*") if path.is_file()]
    with redis_server.client() as client:
        redis = [value for name in client.scan_iter() if isinstance(value := client.get(name), bytes)]
        client.save()
    redis.append((redis_server.folder / "dump.rdb").read_bytes())
    assert len(disk) > 4 < len(redis)
    assert all(TEXT[:40].encode() in file for file in exports), "each export has the chat"
    texts = [each for run in runs for each in as_text(run)]
    assert num_found(runs, [b"x" + b"".join(runs)]) == len(runs), "a run that is there is found"
    assert num_found(texts, [b"\n".join(texts)]) == len(set(texts))
    assert num_found(runs, [*disk, *redis, *exports]) == 0
    assert num_found(texts, exports) == 0


@pytest.mark.parametrize("phase", range(3))
def test_run_in_base64_is_found_at_each_phase(phase: int) -> None:
    run = random.Random(1).randbytes(RUN_BYTES)
    assert num_found(as_text(run), [b'{"kv": "' + base64.b64encode(bytes(phase) + run + bytes(7)) + b'"}']) == 1
