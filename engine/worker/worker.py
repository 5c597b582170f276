"""One model on one device: loads it, owns its KV cache, and executes the scheduler's steps."""

import time
from collections.abc import Callable
from pathlib import Path

import torch

from cache_tiers.layout import BlockLayout
from cache_tiers.transfer import TransferResult
from engine.attention.backend import AttentionSpec
from engine.attention.selector import select_backend
from engine.config import EngineConfig
from engine.cpu.native_step import NativeStep
from engine.cpu.runner import NativeRunner
from engine.cpu.selection import pack_for_native
from engine.cpu.weights import PackedModel
from engine.errors import EngineError
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.worker.cache_engine import CacheEngine
from engine.worker.device import open_device
from engine.worker.forward_pass import ForwardPass, step_output
from engine.worker.host_resources import usable_cores
from engine.worker.input_batch import InputBatch
from engine.worker.model_runner import ModelRunner
from models import registry
from models.interface import CausalLM, ModelShape

ModelLoader = Callable[[Path, torch.dtype, torch.device], CausalLM]
"""A function like `models.registry.load_model`."""

_DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


class Worker:
    """Call `load`, then `init_kv`, with tiers `attach_host_pool`, then `submit` per step, all from one thread."""

    def __init__(
        self,
        config: EngineConfig,
        load_model: ModelLoader = registry.load_model,
        *,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """progress: told of what takes long. Raises EngineError if the machine does not have `config.device`."""
        if config.dtype not in _DTYPES:
            raise EngineError(f"dtype {config.dtype!r} is not one of {', '.join(_DTYPES)}")
        self._config = config
        self._dtype = _DTYPES[config.dtype]
        self._load_model = load_model
        self._progress = progress
        self._device = open_device(config.device)
        self._model: CausalLM | PackedModel | None = None
        self._cache: CacheEngine | None = None
        self._runner: ModelRunner | NativeRunner | None = None
        self._batch = InputBatch(config.block_size, self._device.torch_device)

    @property
    def model(self) -> ModelShape:
        """What is known of the loaded model; raises EngineError before `load`."""
        return self._loaded()

    def _loaded(self) -> CausalLM | PackedModel:
        if self._model is None:
            raise EngineError("the model is not loaded")
        return self._model

    def load(self) -> None:
        """Read the weights; raises what the model loader raises."""
        self._device.prepare()
        model = self._load_model(self._config.model_path, self._dtype, self._device.torch_device)
        packed = pack_for_native(self._config, model, self._progress, threads=usable_cores())
        if packed is not None:
            # torch only copies and samples now; a second thread of it would spin on a core that the step needs.
            torch.set_num_threads(1)
        self._model = packed or model

    def kv_layout(self) -> BlockLayout:
        """The shape of one block of this model's KV."""
        model = self.model
        return BlockLayout(
            num_layers=model.num_layers,
            num_kv_heads=model.num_kv_heads,
            block_size=self._config.block_size,
            head_dim=model.head_dim,
            itemsize=self._dtype.itemsize,
        )

    def numerics_id(self) -> str:
        """Names whatever may change a bit of the KV on this worker; the number of threads does not."""
        model = self._loaded()
        if isinstance(model, PackedModel):
            return model.numerics
        backend = select_backend(self._attention_spec())
        versions = (f"torch-{torch.__version__}", model.kernels, self._device.instruction_set())
        return ";".join((backend.numerics, *versions, self._config.dtype))

    def _attention_spec(self) -> AttentionSpec:
        model = self.model
        return AttentionSpec(self._device.name, self._dtype, model.num_heads, model.num_kv_heads, model.head_dim)

    def available_memory(self) -> int:
        """Bytes of the device that the KV cache could take now."""
        return self._device.available_memory()

    def init_kv(self, num_blocks: int) -> None:
        """Allocate `num_blocks` device blocks."""
        self._cache = CacheEngine(self.kv_layout(), num_blocks, self._dtype, self._device)
        model = self._loaded()
        if isinstance(model, PackedModel):
            self._runner = NativeRunner(model, self._cache.kv_cache, threads=usable_cores())
            return
        spec = self._attention_spec()
        attention = select_backend(spec)(spec, self._cache.kv_cache)
        self._runner = ModelRunner(model, attention, self._device)

    def attach_host_pool(self, host_pool: memoryview) -> None:
        """The CPU tier's arena; raises EngineError before `init_kv`, and if the device cannot copy to it."""
        if self._cache is None:
            raise EngineError("the KV cache is not allocated")
        self._cache.attach_host_pool(host_pool)

    def submit(self, step: SchedulerOutput) -> Callable[[], ModelRunnerOutput]:
        """Begin with a step: copies, loads, then the forward passes, then stores. What it returns waits for the result;
        call it once, in the order of the steps. Without `computes_elsewhere` the step has been computed by then.

        Both raise EngineError if the step contradicts what the worker holds, and what the kernels raise: its requests
        must then be dropped, the others can go on. A block move that fails is a TransferResult with `error`.
        """
        if self._cache is None or self._runner is None:
            raise EngineError("the KV cache is not allocated")
        received = time.perf_counter()
        self._batch.update(step)
        if isinstance(self._runner, ModelRunner):
            output = self._execute(step, self._runner, self._cache, received)
            return lambda: output
        return NativeStep(step, self._runner, self._batch, self._cache, received).collect

    @property
    def computes_elsewhere(self) -> bool:
        """Whether `submit` only hands a step over, to the kernels' own threads; then any thread may call it."""
        return isinstance(self._model, PackedModel)

    def execute(self, step: SchedulerOutput) -> ModelRunnerOutput:
        """Submit a step, and wait."""
        return self.submit(step)()

    def _execute(
        self, step: SchedulerOutput, runner: ModelRunner, cache: CacheEngine, received: float
    ) -> ModelRunnerOutput:
        cache.copy_within(step.copies)
        transfers: tuple[TransferResult, ...] = cache.run(step.loads)
        prepared = time.perf_counter()
        passes: list[ForwardPass] = []
        if step.num_scheduled_tokens:
            passes = [runner.run(self._batch, step.num_scheduled_tokens) for _ in range(step.passes)]
        transfers += cache.run(step.stores)
        return step_output(step, passes, transfers, received=received, prepared=prepared)

    def close(self) -> None:
        """Let go of the host pool and the device's memory."""
        if self._cache is not None:
            self._cache.close()
        self._cache = self._runner = self._model = None
