"""Block copies of a worker between the device pool and the host pool."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cache_tiers.transfer import Direction, TransferJob
from engine.request.scheduler_output import NewRequestData
from tests.integration.worker_driver import BLOCK, GREEDY, WorkerDriver, tokens_of
from tests.tiny_models import make_tiny_model

PROMPT = tuple(
    int(token) for token in torch.randint(3, 250, (5 * BLOCK + 9,), generator=torch.Generator().manual_seed(8))
)
FULL = 5


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("worker") / "tiny", layers=3)


@pytest.fixture(params=["float32", "bfloat16"])
def driver(model: Path, request: pytest.FixtureRequest) -> Iterator[WorkerDriver]:
    driver = WorkerDriver(model, dtype=request.param)
    yield driver
    driver.executor.close()


def stores(driver: WorkerDriver, blocks: range) -> list[TransferJob]:
    return [TransferJob(i, Direction.STORE, block, i * driver.block_nbytes) for i, block in enumerate(blocks)]


def loads(driver: WorkerDriver, blocks: range) -> list[TransferJob]:
    return [TransferJob(100 + i, Direction.LOAD, block, i * driver.block_nbytes) for i, block in enumerate(blocks)]


def compute_and_store(driver: WorkerDriver) -> None:
    """Compute the prompt's KV in blocks 0 to 5, and store the full blocks in the host pool."""
    new = NewRequestData("first", PROMPT, len(PROMPT), tuple(range(8)), 0, GREEDY)
    result = driver.run(driver.plan({"first": len(PROMPT)}, new=[new], stores=stores(driver, range(FULL))))
    assert [transfer.error for transfer in result.transfers] == [None] * FULL


def test_store_copies_blocks_computed_in_the_same_step(driver: WorkerDriver) -> None:
    compute_and_store(driver)
    pieces = [bytes(driver.host[i * driver.block_nbytes : (i + 1) * driver.block_nbytes]) for i in range(8)]
    assert len(set(pieces[:FULL])) == FULL
    assert not any(any(piece) for piece in pieces[FULL:])


def test_load_is_visible_to_its_own_step(driver: WorkerDriver) -> None:
    """Compare the tokens after the prefix on the device with those after the prefix loaded into other blocks."""
    compute_and_store(driver)
    on_device = driver.generate(PROMPT, 16, blocks=range(8), computed=FULL * BLOCK)
    new = NewRequestData("back", PROMPT, len(PROMPT), tuple(range(40, 48)), FULL * BLOCK, GREEDY)
    rest = len(PROMPT) - FULL * BLOCK
    result = driver.run(driver.plan({"back": rest}, new=[new], loads=loads(driver, range(40, 40 + FULL))))
    restored = tokens_of(result)
    for done in range(len(PROMPT), len(PROMPT) + 15):
        restored += tokens_of(driver.run(driver.plan({"back": 1}, cached={"back": done})))
    assert restored == on_device


def test_prefix_restored_from_the_host_gives_the_same_bits(driver: WorkerDriver) -> None:
    """Compare the KV computed after the loaded prefix, byte by byte, with the KV computed after the original."""
    compute_and_store(driver)
    tail_bytes = []
    longer = PROMPT + PROMPT[: 3 * BLOCK]
    for blocks, moved in ((range(9), []), (range(40, 49), loads(driver, range(40, 40 + FULL)))):
        new = NewRequestData("next", longer, len(longer), tuple(blocks), FULL * BLOCK, GREEDY)
        out = TransferJob(50, Direction.STORE, blocks[6], 7 * driver.block_nbytes)
        rest = {"next": len(longer) - FULL * BLOCK}
        driver.run(driver.plan(rest, new=[new], loads=moved, stores=[out]))
        driver.run(driver.plan(dropped=["next"]))
        tail_bytes.append(bytes(driver.host[7 * driver.block_nbytes :]))
    assert any(tail_bytes[0])
    assert tail_bytes[0] == tail_bytes[1]


def test_step_without_tokens_only_copies_blocks(driver: WorkerDriver) -> None:
    compute_and_store(driver)
    before = bytes(driver.host[: driver.block_nbytes])
    move = [TransferJob(1, Direction.LOAD, 60, 0)], [TransferJob(2, Direction.STORE, 60, 6 * driver.block_nbytes)]
    result = driver.run(driver.plan(loads=move[0], stores=move[1]))
    assert [transfer.job_id for transfer in result.transfers] == [1, 2]
    assert (result.sampled_token_ids, result.seconds) == ({}, 0.0)
    assert bytes(driver.host[6 * driver.block_nbytes : 7 * driver.block_nbytes]) == before


def test_impossible_load_is_reported_and_the_step_continues(driver: WorkerDriver) -> None:
    new = NewRequestData("r", PROMPT, len(PROMPT), tuple(range(8)), 0, GREEDY)
    result = driver.run(driver.plan({"r": len(PROMPT)}, new=[new], loads=[TransferJob(9, Direction.LOAD, 5, 1 << 40)]))
    assert "outside" in str(result.transfers[0].error)
    assert set(result.sampled_token_ids) == {"r"}
