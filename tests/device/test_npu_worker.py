"""A small openPangu on an NPU: recorded decodes, restored prefixes, and the CPU's float32 as the reference."""

from pathlib import Path

from cache_tiers.transfer import Direction, TransferJob
from engine.request.scheduler_output import NewRequestData
from engine.worker.torch.accelerator import AcceleratorDevice
from tests.contract.npu_rig import BLOCK, BLOCK_NBYTES, GREEDY, npu_config, npu_driver, prompt
from tests.device.model import pangu
from tests.integration.worker_driver import WorkerDriver, tokens_of

PROMPT = prompt(1, 300)


def test_recorded_decodes_give_the_tokens_of_called_ones(npu: AcceleratorDevice, tmp_path: Path) -> None:
    model = pangu(tmp_path)
    tokens = []
    for graphs in (True, False):
        driver = npu_driver(npu_config(model, graphs=graphs).with_fields(check_operators=not graphs))
        tokens.append(driver.generate(PROMPT, 20, blocks=range(4)))
        driver.executor.close()
    assert tokens[0] == tokens[1]


def test_a_restored_prefix_is_the_prefix(npu: AcceleratorDevice, tmp_path: Path) -> None:
    driver = npu_driver(npu_config(pangu(tmp_path)))
    new = NewRequestData("first", tuple(PROMPT), len(PROMPT), (0, 1, 2, 3), 0, GREEDY)
    stores = [TransferJob(at, Direction.STORE, at, at * BLOCK_NBYTES) for at in range(2)]
    first = tokens_of(driver.run(driver.plan({"first": len(PROMPT)}, new=[new], stores=stores)))
    driver.run(driver.plan(dropped=["first"]))
    assert restored(driver) == first
    driver.executor.close()


def restored(driver: WorkerDriver) -> list[int]:
    back = NewRequestData("back", tuple(PROMPT), len(PROMPT), (8, 9, 10), 2 * BLOCK, GREEDY)
    loads = [TransferJob(10 + at, Direction.LOAD, 8 + at, at * BLOCK_NBYTES) for at in range(2)]
    driver.run(driver.plan(loads=loads))
    return tokens_of(driver.run(driver.plan({"back": len(PROMPT) - 2 * BLOCK}, new=[back])))
