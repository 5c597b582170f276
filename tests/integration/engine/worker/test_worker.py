"""Life of a worker: loading, failed steps, threads and shutdown."""

import os
import threading
from pathlib import Path

import pytest
import torch

from cache_tiers.layout.layout import KVShape
from engine.api.errors import EngineError
from engine.executor.uniproc import UniProcExecutor
from engine.request.scheduler_output import NewRequestData, SchedulerOutput
from engine.worker.host_resources import usable_cores
from engine.worker.torch.devices import open_device
from engine.worker.worker import Worker
from tests.integration.worker_driver import GREEDY, WorkerDriver, engine_config, tokens_of
from tests.tiny_models import make_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("worker") / "tiny", layers=3)


def loaded(model: Path, dtype: str) -> Worker:
    worker = Worker(engine_config(model, dtype))
    worker.load()
    return worker


def test_kv_layout_follows_the_model_and_the_settings(model: Path) -> None:
    layout = loaded(model, "bfloat16").kv_layout()
    assert (layout.calls, layout.block_size) == ((KVShape(2, 16, 16),) * 3, 16)
    assert layout.nbytes == 3 * 2 * 2 * 16 * 16 * 2


def test_numerics_id_depends_on_dtype_but_not_on_threads(model: Path) -> None:
    worker = loaded(model, "bfloat16")
    name = worker.numerics_id()
    assert name.startswith(f"torch-1;torch-{torch.__version__};")
    assert loaded(model, "float32").numerics_id() != name
    torch.set_num_threads(1)
    assert worker.numerics_id() == name


def test_load_sets_torch_threads_to_the_usable_cores(model: Path) -> None:
    torch.set_num_threads(1)
    driver = WorkerDriver(model)
    assert driver.executor.call(torch.get_num_threads) == usable_cores()
    driver.executor.close()


def test_engines_on_the_same_cores_divide_the_threads(model: Path) -> None:
    Worker(engine_config(model, "bfloat16").with_fields(cpu_sharers=usable_cores() + 1)).load()
    assert torch.get_num_threads() == 1


def test_step_with_an_unknown_request_raises_from_its_future(model: Path) -> None:
    driver = WorkerDriver(model)
    with pytest.raises(EngineError, match="request ghost"):
        driver.run(driver.plan({"ghost": 1}))
    driver.executor.close()


def test_failed_step_does_not_affect_other_requests(model: Path) -> None:
    driver = WorkerDriver(model)
    expected = driver.generate(range(20, 50), 6)
    others = NewRequestData("fine", tuple(range(20, 50)), 30, (30, 31, 32), 0, GREEDY)
    tokens = tokens_of(driver.run(driver.plan({"fine": 30}, new=[others])))
    too_long = NewRequestData("bad", (5, 6, 7), 3, (), 0, GREEDY)
    with pytest.raises(EngineError, match="request bad"):
        driver.run(driver.plan({"bad": 3}, new=[too_long]))
    for done in range(30, 35):
        step = driver.plan({"fine": 1}, cached={"fine": done}, dropped=["bad"] if done == 30 else [])
        tokens += tokens_of(driver.run(step))
    driver.executor.close()
    assert tokens == expected


def test_usable_cores_follow_the_cpu_affinity() -> None:
    """Narrow the affinity of a separate thread, since an affinity belongs to a thread."""
    narrowed: list[int] = []

    def narrow() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        narrowed.append(usable_cores())

    thread = threading.Thread(target=narrow)
    thread.start()
    thread.join()
    assert narrowed == [1]
    assert 1 <= usable_cores() <= len(os.sched_getaffinity(0))


def test_worker_refuses_steps_before_model_and_cache_exist(model: Path) -> None:
    worker = Worker(engine_config(model))
    with pytest.raises(EngineError, match="not loaded"):
        worker.kv_layout()
    worker.load()
    with pytest.raises(EngineError, match="not allocated"):
        worker.execute(SchedulerOutput(step_id=1))


def test_close_drains_the_queue_and_ends_the_model_thread(model: Path) -> None:
    driver = WorkerDriver(model)
    thread = driver.executor.call(threading.current_thread)
    prompt_step = driver.executor.execute(driver.plan())
    driver.executor.close()
    assert prompt_step.result(timeout=0).step_id == 1
    assert not thread.is_alive()
    driver.host.append(0)


def test_every_call_runs_on_the_model_thread(model: Path) -> None:
    worker = Worker(engine_config(model))
    executor = UniProcExecutor(worker)
    threads = {executor.call(threading.get_ident) for _ in range(5)}
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    executor.close()


def test_unknown_device_or_dtype_is_refused_by_name(model: Path) -> None:
    with pytest.raises(EngineError, match="'tpu'"):
        open_device("tpu")
    with pytest.raises(EngineError, match="'int4'"):
        Worker(engine_config(model, "int4"))


def test_missing_device_is_refused_by_name() -> None:
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    missing = "npu" if found is None or found.type != "npu" else "cuda"
    with pytest.raises(EngineError, match=f"no usable {missing} device"):
        open_device(missing)


def test_available_memory_of_the_cpu_is_plausible() -> None:
    assert 64 << 20 < open_device("cpu").available_memory() < 1 << 50
