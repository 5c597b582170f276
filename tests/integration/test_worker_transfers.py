from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from cache_tiers.transfer import Direction, TransferJob
from engine.scheduling.output import NewRequestData
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
    """The prompt's KV in blocks 0 to 5; the full ones also in the host pool."""
    new = NewRequestData("first", PROMPT, len(PROMPT), tuple(range(8)), 0, GREEDY)
    result = driver.run(driver.plan({"first": len(PROMPT)}, new=[new], stores=stores(driver, range(FULL))))
    assert [transfer.error for transfer in result.transfers] == [None] * FULL


def test_a_store_carries_what_its_own_step_computed(driver: WorkerDriver) -> None:
    compute_and_store(driver)
    pieces = [bytes(driver.host[i * driver.block_nbytes : (i + 1) * driver.block_nbytes]) for i in range(8)]
    assert len(set(pieces[:FULL])) == FULL
    assert not any(any(piece) for piece in pieces[FULL:])


def test_a_load_serves_the_step_that_it_comes_with(driver: WorkerDriver) -> None:
    """The prefix on the device and the prefix from the host, in other blocks, give the same tokens."""
    compute_and_store(driver)
    on_device = driver.generate(PROMPT, 16, blocks=range(8), computed=FULL * BLOCK)
    new = NewRequestData("back", PROMPT, len(PROMPT), tuple(range(40, 48)), FULL * BLOCK, GREEDY)
    rest = len(PROMPT) - FULL * BLOCK
    result = driver.run(driver.plan({"back": rest}, new=[new], loads=loads(driver, range(40, 40 + FULL))))
    restored = tokens_of(result)
    for done in range(len(PROMPT), len(PROMPT) + 15):
        restored += tokens_of(driver.run(driver.plan({"back": 1}, cached={"back": done})))
    assert restored == on_device


def test_a_prefix_that_went_to_the_host_and_back_leads_to_the_same_bits(driver: WorkerDriver) -> None:
    """The KV of what follows the prefix, stored again, equals byte by byte the one computed behind the original."""
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


def test_a_step_without_tokens_only_moves_blocks(driver: WorkerDriver) -> None:
    compute_and_store(driver)
    before = bytes(driver.host[: driver.block_nbytes])
    move = [TransferJob(1, Direction.LOAD, 60, 0)], [TransferJob(2, Direction.STORE, 60, 6 * driver.block_nbytes)]
    result = driver.run(driver.plan(loads=move[0], stores=move[1]))
    assert [transfer.job_id for transfer in result.transfers] == [1, 2]
    assert (result.sampled_token_ids, result.seconds) == ({}, 0.0)
    assert bytes(driver.host[6 * driver.block_nbytes : 7 * driver.block_nbytes]) == before


def test_a_move_that_cannot_be_is_reported_and_the_step_goes_on(driver: WorkerDriver) -> None:
    new = NewRequestData("r", PROMPT, len(PROMPT), tuple(range(8)), 0, GREEDY)
    result = driver.run(driver.plan({"r": len(PROMPT)}, new=[new], loads=[TransferJob(9, Direction.LOAD, 5, 1 << 40)]))
    assert "outside" in str(result.transfers[0].error)
    assert set(result.sampled_token_ids) == {"r"}
