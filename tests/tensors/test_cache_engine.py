import random

import pytest
import torch

from cache_tiers.npu.copy_engine import CopyEngine
from cache_tiers.npu.device_pool import DevicePool
from cache_tiers.transfer import BlockCopy, Direction, TransferJob
from engine.worker.cache_engine import CacheEngine
from engine.worker.torch.devices import open_device
from tests.kv_layouts import equal_layers

LAYOUT = equal_layers(3, kv_heads=2, block_size=16, head_dim=8)


def engine(host: bytearray | None, num_blocks: int = 6) -> CacheEngine:
    cache = CacheEngine(LAYOUT, num_blocks, torch.bfloat16, open_device("cpu"))
    if host is not None:
        cache.attach_host_pool(memoryview(host))
    return cache


def random_block(seed: int) -> bytes:
    return random.Random(seed).randbytes(LAYOUT.nbytes)


def block_bytes(cache: CacheEngine, block_id: int) -> bytes:
    return bytes(cache.pool.blocks[block_id].view(torch.uint8).numpy())


def test_pool_starts_zeroed_in_shape_of_layout() -> None:
    cache = engine(None)
    assert [(tuple(k.shape), tuple(v.shape)) for k, v in cache.pool.pages] == [((6, 2, 16, 8), (6, 2, 16, 8))] * 3
    assert not cache.pool.tensor.any()


def test_block_survives_round_trip_through_host() -> None:
    """Copy random bytes, which include NaN patterns that a copy through floating point could change."""
    host = bytearray(4 * LAYOUT.nbytes)
    cache = engine(host)
    host[LAYOUT.nbytes : 2 * LAYOUT.nbytes] = random_block(1)
    load = TransferJob(1, Direction.LOAD, block_id=4, host_offset=LAYOUT.nbytes)
    store = TransferJob(2, Direction.STORE, block_id=4, host_offset=3 * LAYOUT.nbytes)
    results = cache.run([load, store])
    assert [(result.job_id, result.error) for result in results] == [(1, None), (2, None)]
    assert block_bytes(cache, 4) == random_block(1)
    assert host[3 * LAYOUT.nbytes :] == random_block(1)


def test_copy_within_device_is_exact_without_tiers() -> None:
    cache = engine(None)
    cache.pool.blocks[1].view(torch.uint8).copy_(torch.frombuffer(bytearray(random_block(2)), dtype=torch.uint8))
    cache.copy_within([BlockCopy(source_id=1, target_id=4)])
    assert block_bytes(cache, 4) == random_block(2)
    assert [i for i in range(6) if cache.pool.blocks[i].view(torch.int16).any()] == [1, 4]


def test_copy_changes_only_its_block() -> None:
    host = bytearray(b"\x55" * (3 * LAYOUT.nbytes))
    cache = engine(host)
    cache.run([TransferJob(1, Direction.LOAD, 2, LAYOUT.nbytes), TransferJob(2, Direction.STORE, 0, 0)])
    assert [i for i in range(6) if cache.pool.blocks[i].any()] == [2]
    assert not any(host[: LAYOUT.nbytes])
    assert host[LAYOUT.nbytes :] == b"\x55" * (2 * LAYOUT.nbytes)


@pytest.mark.parametrize(("block_id", "blocks_off"), [(6, 0), (-1, 0), (0, 3), (0, -1)])
@pytest.mark.parametrize("direction", list(Direction))
def test_job_outside_a_pool_fails_without_affecting_others(
    direction: Direction, block_id: int, blocks_off: int
) -> None:
    host = bytearray(b"\x55" * (3 * LAYOUT.nbytes))
    cache = engine(host)
    jobs = [TransferJob(1, direction, block_id, blocks_off * LAYOUT.nbytes), TransferJob(2, Direction.LOAD, 1, 0)]
    bad, good = cache.run(jobs)
    assert bad.error is not None
    assert "outside" in bad.error
    assert good.error is None
    assert [i for i in range(6) if cache.pool.blocks[i].any()] == [1]
    assert host == b"\x55" * (3 * LAYOUT.nbytes)


def test_job_without_cpu_tier_returns_error() -> None:
    (result,) = engine(None).run([TransferJob(7, Direction.STORE, 0, 0)])
    assert (result.job_id, result.error) == (7, "there is no CPU tier")


def test_close_releases_host_pool() -> None:
    host = bytearray(LAYOUT.nbytes)
    cache = engine(host)
    cache.run([TransferJob(1, Direction.STORE, 0, 0)])
    with pytest.raises(BufferError):
        host.append(0)
    cache.close()
    host.append(0)


def test_pool_must_be_writable_and_in_whole_blocks() -> None:
    with pytest.raises(ValueError, match="whole blocks"):
        DevicePool(memoryview(bytearray(100)), 64)
    with pytest.raises(ValueError, match="writable"):
        DevicePool(memoryview(bytes(128)), 64)


def test_copies_leave_rest_of_pool_unchanged() -> None:
    device, host = bytearray(b"ab" * 8), bytearray(b"\0" * 8)
    results = CopyEngine(DevicePool(memoryview(device), 4), memoryview(host)).run(
        [TransferJob(1, Direction.STORE, 3, 4), TransferJob(2, Direction.LOAD, 0, 0)]
    )
    assert all(result.error is None and result.seconds >= 0 for result in results)
    assert host == b"\0\0\0\0abab"
    assert device == b"\0\0\0\0" + b"ab" * 6
