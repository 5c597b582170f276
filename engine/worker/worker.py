"""Worker for one model on one device: loads the model, owns its KV cache and executes the scheduler's steps."""

import itertools
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

import torch

from cache_tiers.layout.layout import BlockLayout, PoolOrder
from cache_tiers.npu.owed_results import OwedResults
from engine.api.errors import FOR_THE_PROCESS, EngineError
from engine.attention.backend import AttentionBackend, AttentionSpec, Feature, GraphedSteps, kv_shapes
from engine.attention.backends import PLAIN
from engine.attention.selector import Selection, select_backend
from engine.config import EngineConfig
from engine.cpu.weights import PackedModel
from engine.request.scheduler_output import DraftWork, ModelRunnerOutput, SchedulerOutput
from engine.speculation.speculation import LONGEST_DRAFT
from engine.worker.adapter_loader import AdapterLoader
from engine.worker.batch.forward_pass import ForwardPass, step_output
from engine.worker.batch.input_batch import InputBatch
from engine.worker.batch.stage_exchange import StageExchange
from engine.worker.batch.stage_link import StageLink
from engine.worker.cache_engine import CacheEngine
from engine.worker.drafter import Drafter
from engine.worker.host_resources import usable_cores
from engine.worker.loaded_model import LoadedModel
from engine.worker.native.kept_weights import KeptWeights, kept_weights
from engine.worker.native.native_step import NativeRunner, NativeStep
from engine.worker.native.selection import check_quantization, pack_for_native
from engine.worker.native.step_turns import StepTurns
from engine.worker.torch.decode_graphs import DRAFTED_ROWS, DecodeGraphs, DecodeShape
from engine.worker.torch.devices import open_device
from engine.worker.torch.model_runner import ModelRunner, StepGraphs
from engine.worker.torch.prompt_graphs import PromptGraphs, PromptShape
from engine.worker.torch.stage_runner import StageRunner
from models import registry
from models.adapters.adapter import Adapter
from models.decoder.model import DecoderForCausalLM
from models.interface.causal_lm import CausalLM, ModelShape
from models.interface.parallel import SINGLE_RANK, RankGroup
from models.interface.partition import Stage
from models.layers.kinds import TORCH_LAYERS, LayerKinds

logger = logging.getLogger(__name__)


class ModelLoader(Protocol):
    """A function like `models.registry.load_model`."""

    def __call__(
        self,
        path: Path,
        dtype: torch.dtype,
        device: torch.device,
        layers: LayerKinds,
        ranks: RankGroup,
        window: int | None,
        /,
        *,
        keep_packed: bool,
        stage: Stage | None,
    ) -> CausalLM:
        """See `models.registry.load_model`."""


_DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


class Worker:
    """One model on one device.

    Call `load`, then `init_kv`, then `attach_host_pool` if there are lower tiers, then `submit` for each step. Make all
    calls from one thread, unless `computes_elsewhere` is true.
    """

    def __init__(
        self,
        config: EngineConfig,
        load_model: ModelLoader = registry.load_model,
        *,
        progress: Callable[[str], None] = lambda _: None,
        ranks: RankGroup = SINGLE_RANK,
        stage: Stage | None = None,
        link: StageLink | None = None,
        num_sharers: int = 1,
    ) -> None:
        """Open the device. Raise EngineError if the machine does not have `config.device`.

        progress: receives a message before each long operation.
        ranks: the tensor-parallel group that computes the model, or this stage of it, including this worker.
        stage, link: the layers of this worker in a pipeline, and its connection to the other stages; None for all
            layers.
        num_sharers: workers of this engine that divide the CPUs of this process among themselves, including this one.
        """
        if config.model.dtype not in _DTYPES:
            raise EngineError(f"dtype {config.model.dtype!r} is not one of {', '.join(_DTYPES)}")
        self._config = config
        self._dtype = _DTYPES[config.model.dtype]
        self._load_model = load_model
        self._progress = progress
        self._ranks = ranks
        self._stage = stage
        self._link = link
        self._num_sharers = num_sharers * config.parallel.cpu_sharers
        self._threads = max(1, usable_cores() // self._num_sharers)
        self._device = open_device(config.device.kind)
        self._model: CausalLM | PackedModel | None = None
        self._cache: CacheEngine | None = None
        self._runner: ModelRunner | StageRunner | NativeRunner | None = None
        self._exchange: StageExchange | None = None
        self._adapters: AdapterLoader | None = None
        self._at_start: list[Adapter] = []
        self._kept: KeptWeights | None = None
        drafting = config.of_draft_model()
        self._draft_worker = Worker(drafting, load_model, progress=progress) if drafting is not None else None
        self._drafter: Drafter | None = None
        self._batch: InputBatch | None = None

    def describe(self) -> LoadedModel:
        """Describe this rank's part of the model for the scheduler. Raise EngineError before `load`."""
        model = self.model
        return LoadedModel(
            vocab_size=model.vocab_size,
            max_position_embeddings=model.max_position_embeddings,
            block_nbytes=self.kv_layout().nbytes,
            free=self.available_memory(),
            numerics=self.numerics_id(),
            weights=sum(_weights_nbytes(each._loaded()) for each in self._workers),
            shares_memory=self._device.memory is None,
            adapters=tuple(self._at_start),
            draft_block_nbytes=self._draft_worker.kv_layout().nbytes if self._draft_worker is not None else 0,
        )

    @property
    def _workers(self) -> "list[Worker]":
        """This worker, and that of the draft model."""
        return [self] if self._draft_worker is None else [self, self._draft_worker]

    @property
    def model(self) -> ModelShape:
        """Shape of the loaded model. Raise EngineError before `load`."""
        return self._loaded()

    def _loaded(self) -> CausalLM | PackedModel:
        if self._model is None:
            raise EngineError("the model is not loaded")
        return self._model

    def load(self) -> None:
        """Load the weights. Errors of the model loader propagate.

        Raise EngineError, before weights are read where the model does not matter, for settings that contradict.
        """
        check_quantization(self._config)
        self._device.prepare()
        # On a GPU, the plain backends of attention come with plain layers, which need no Triton.
        plain = self._config.device.kind == "cuda" and self._config.device.attention in PLAIN
        layers = TORCH_LAYERS if plain else self._device.layers(check=self._config.device.check_operators)
        if self._num_sharers > 1:
            torch.set_num_threads(min(self._threads, torch.get_num_threads()))
        # Another loader may read another network.
        self._kept = kept_weights(self._config, self._stage) if self._load_model is registry.load_model else None
        packed = None if self._kept is None else self._kept.load(threads=self._threads, progress=self._progress)
        self._model = packed or self._read_model(layers)
        self._load_adapters(self._model)
        if isinstance(self._model, PackedModel):
            # torch only copies and samples from here on. A second torch thread would spin on a core of the step.
            torch.set_num_threads(1)
        self._batch = InputBatch(self._config.cache.block_size, self._model.vocab_size, self._device.torch_device)
        if self._draft_worker is not None:
            self._progress(f"loading the draft model {self._draft_worker._config.model.name}")
            self._draft_worker.load()

    def _read_model(self, layers: LayerKinds) -> CausalLM | PackedModel:
        """Read the weights, and pack them if the native step can serve."""
        config, packed = self._config, None
        try:
            model = self._load_model(
                config.model.path,
                self._dtype,
                self._device.torch_device,
                layers,
                self._ranks,
                config.model.max_model_len,
                keep_packed=config.device.kind == "cpu" and self._ranks.size == 1,
                stage=self._stage,
            )
            packed = pack_for_native(config, model, self._progress, threads=self._threads)
        finally:
            # Other processes may wait for these weights, also if they cannot be packed.
            if self._kept is not None:
                self._kept.keep(packed)
        return packed or model

    def _load_adapters(self, model: CausalLM | PackedModel) -> None:
        """Read the configured adapters. Raise EngineError if the model cannot have them, ModelError as their loader."""
        self._adapters = loader = AdapterLoader(self._config, model, self._dtype, self._ranks)
        for name in loader.configured:
            self._progress(f"loading the adapter {name}")
            self._at_start.append(loader.add(loader.read(name)))

    @property
    def adapters(self) -> AdapterLoader:
        """Adapters of the model, which change between steps. Raise EngineError before `load`.

        `read` may be called on any thread, and `add` on the one that loaded the model. `drop` may be called on the one
        that collects steps, after the steps that use the adapter.
        """
        if self._adapters is None:
            raise EngineError("the model is not loaded")
        return self._adapters

    def kv_layout(self) -> BlockLayout:
        """Return the layout of one KV block of this model."""
        # The kernels of the native step use their own order within a page.
        order = PoolOrder.BLOCKS if isinstance(self._model, PackedModel) else self._selection().backend.order
        return BlockLayout(kv_shapes(self.model.attention), self._config.cache.block_size, self._dtype.itemsize, order)

    def numerics_id(self) -> str:
        """Return an identifier of everything that may change a bit of the KV. The number of threads does not."""
        model = self._loaded()
        if isinstance(model, PackedModel):
            return model.numerics
        versions = (f"torch-{torch.__version__}", model.kernels, self._device.instruction_set())
        return ";".join((self._selection().backend.numerics, *versions, self._config.model.dtype))

    def _attention_spec(self) -> AttentionSpec:
        return AttentionSpec(self._device.name, self._dtype, self.model.attention, self._config.cache.block_size)

    def _selection(self) -> Selection:
        return select_backend(self._attention_spec(), self._config.device.attention)

    def available_memory(self) -> int:
        """Return the bytes that the KV cache could take now. All processes may share them (`LoadedModel`)."""
        # The system could drop the pages of a mapped file, but each step reads all of them.
        models = [each._model for each in self._workers]
        mapped = sum(each.mapped_nbytes for each in models if isinstance(each, PackedModel))
        return max(0, self._device.available_memory() - mapped)

    def init_kv(self, num_blocks: int) -> None:
        """Allocate `num_blocks` device blocks, and capture graphs of steps where the device supports that."""
        model, layout = self._loaded(), self.kv_layout()
        if self._draft_worker is not None:
            self._draft_worker.init_kv(num_blocks)
            self._drafter = self._make_drafter(self._draft_worker)
        self._exchange = self._make_exchange(model)
        if isinstance(model, PackedModel):
            self._cache = CacheEngine(layout, num_blocks, self._dtype, self._device)
            folder = self._config.parallel.step_turns
            turns = StepTurns(folder) if folder is not None else None
            self._runner = NativeRunner(model, self._cache.pool.blocks, threads=self._threads, turns=turns)
            return
        selection = self._selection()
        logger.info("attention on %s: %s", self._device.name, selection)
        recordable = Feature.GRAPHS in selection.backend.support.features
        # A graph would have to begin and end with the hidden states of a stage.
        recordable = recordable and self._exchange is None
        shape = self._decode_shape(model, num_blocks) if self._config.device.decode_graphs and recordable else None
        spare = shape.spare_blocks() if shape is not None else 0
        self._cache = CacheEngine(layout, num_blocks, self._dtype, self._device, spare_blocks=spare)
        check = self._config.device.check_operators
        attention = selection.backend(self._attention_spec(), self._cache.pool, check=check)
        if self._exchange is not None:
            self._runner = StageRunner(model, attention, self._device, self._ranks, self._exchange)
            return
        graphs = self._graphs(model, attention, shape) if shape is not None else []
        self._runner = ModelRunner(model, attention, self._device, graphs, self._ranks)

    def _make_drafter(self, worker: "Worker") -> Drafter:
        return Drafter(
            worker,
            block_size=self._config.cache.block_size,
            window=worker.model.max_position_embeddings,
            vocab_size=min(self.model.vocab_size, worker.model.vocab_size),
        )

    def _make_exchange(self, model: CausalLM | PackedModel) -> StageExchange | None:
        """Connect this stage to the others; None if this worker has all layers."""
        if self._stage is None or self._link is None:
            return None
        assert isinstance(model, PackedModel | DecoderForCausalLM), "only the shared decoder has stages"
        # The kernels' residual stream is float32.
        dtype = torch.float32 if isinstance(model, PackedModel) else model.dtype
        like = torch.empty(0, model.hidden_size, dtype=dtype, device=self._device.torch_device)
        return StageExchange(self._stage, self._link, like, speaks=self._ranks.rank == 0)

    def _decode_shape(self, model: CausalLM, num_blocks: int) -> DecodeShape:
        """Return the capacity of the decode graphs. Padding writes past the `num_blocks` blocks of requests."""
        window = min(self._config.model.max_model_len or model.max_position_embeddings, model.max_position_embeddings)
        size = self._config.cache.block_size
        rows = self._config.scheduler.max_num_seqs
        if self._config.speculation.prompt_lookup:
            rows = max(rows, min(rows * (1 + LONGEST_DRAFT), DRAFTED_ROWS))
        return DecodeShape(rows, -(-window // size), size, num_blocks)

    def _graphs(self, model: CausalLM, attention: AttentionBackend, shape: DecodeShape) -> list[StepGraphs]:
        """Capture the graphs of decodes, and of prompts if the backend can. Steps without graphs are only slower."""
        config, device = self._config, self._device
        kinds: list[DecodeGraphs | PromptGraphs] = [DecodeGraphs(model, attention, device, shape)]
        told = f"capturing graphs for up to {shape.buckets()[-1]} decodes"
        if isinstance(attention, GraphedSteps):
            prompts = PromptShape(
                config.scheduler.max_num_batched_tokens,
                config.scheduler.max_num_seqs,
                shape.max_blocks,
                shape.block_size,
                shape.spare_block,
            )
            kinds.append(PromptGraphs(model, attention, device, prompts))
            told = f"{told} and {prompts.buckets()[-1]} tokens of prompts"
        self._progress(told)
        return [*itertools.takewhile(self._capture, kinds)]

    def _capture(self, graphs: DecodeGraphs | PromptGraphs) -> bool:
        """Capture graphs, and return whether all ranks have: their sums are over the same rows, padding or not."""
        try:
            is_captured = graphs.capture()
        except Exception as error:  # A device that cannot capture may raise any error.
            logger.warning("%s run without graphs, because capturing one failed: %s", graphs.steps, error)
            is_captured = False
        captured = torch.tensor([float(is_captured)], device=self._device.torch_device)
        return float(self._ranks.sum(captured)) == self._ranks.size

    def attach_host_pool(self, host_pool: memoryview) -> None:
        """Attach the CPU tier's arena. Raise EngineError before `init_kv`, or if the device cannot copy to the arena.

        host_pool: begins with this worker's part of the first block.
        """
        if self._cache is None:
            raise EngineError("the KV cache is not allocated")
        self._cache.attach_host_pool(host_pool)

    def submit(self, step: SchedulerOutput) -> Callable[[], ModelRunnerOutput]:
        """Start a step: copies, loads, the forward passes, then stores.

        Return a function that waits for the step's output. Call it once, in the order of the steps, from any thread.
        The next step may be submitted before, unless it needs the tokens of this one.

        Each transfer gets one result, in the output of its step or of a later one. A failed transfer is a
        TransferResult with `error`. A step without tokens ends when all transfers have ended, even if the step fails.

        The returned function raises EngineError if the step contradicts the worker's state, and propagates errors of
        the kernels. The requests of a failed step must be dropped, and the others can continue. The results of its
        transfers come with a later step. If a step without tokens fails, earlier transfers get no further results.
        """
        if self._cache is None or self._runner is None or self._batch is None:
            raise EngineError("the KV cache is not allocated")
        received, cache = time.perf_counter(), self._cache
        number, work = cache.owed.begin_step(), None
        try:
            self._batch.update(step)
            cache.prepare(step)
            step, work = self._with_drafts(step, self._batch)
            if isinstance(self._runner, ModelRunner | StageRunner):
                collect = self._execute(step, number, self._runner, self._batch, cache, received)
            else:
                collect = NativeStep(
                    step=step,
                    number=number,
                    runner=self._runner,
                    batch=self._batch,
                    cache=cache,
                    received=received,
                    exchange=self._exchange,
                ).collect
                if self._exchange is not None:
                    # The next stage waits for the hidden states, and the next step for the tokens.
                    output = collect()
                    return lambda: output
        except FOR_THE_PROCESS:
            raise
        except BaseException as error:
            # Raise when the step is collected: another thread may still be collecting the steps before it.
            collect = partial(_fail, error)
        return partial(_collect, step, number, collect, cache.owed, work)

    def _with_drafts(self, step: SchedulerOutput, batch: InputBatch) -> tuple[SchedulerOutput, DraftWork | None]:
        """Have the draft model draft what `step` asks for, and return the step with these drafts.

        A draft model that fails is not asked again: answers need none.
        """
        if self._drafter is not None:
            self._drafter.forget(step.dropped_request_ids)
        if not step.to_draft:
            return step, None
        drafts, work = dict[str, tuple[int, ...]](), None
        try:
            if self._drafter is not None:
                drafts, work = self._drafter.draft(step.to_draft, batch.state)
        except FOR_THE_PROCESS:
            raise
        except Exception:
            logger.exception("the draft model failed, so answers are computed without it. Start the server again")
            self._drafter = None
        batch.add_drafts(drafts)
        counts = {name: count + len(drafts.get(name, ())) for name, count in step.num_scheduled_tokens.items()}
        return replace(step, num_scheduled_tokens=counts, drafts={**step.drafts, **drafts}, to_draft={}), work

    @property
    def computes_elsewhere(self) -> bool:
        """True if `submit` only hands a step to the kernels' own threads. Any thread may then call `submit`.

        A stage of a pipeline also waits for the stages before it, and a worker with a draft model for the drafts.
        """
        return isinstance(self._model, PackedModel) and self._stage is None and self._draft_worker is None

    def execute(self, step: SchedulerOutput) -> ModelRunnerOutput:
        """Submit a step and wait for its output."""
        return self.submit(step)()

    def _execute(
        self,
        step: SchedulerOutput,
        number: int,
        runner: ModelRunner | StageRunner,
        batch: InputBatch,
        cache: CacheEngine,
        received: float,
    ) -> Callable[[], ModelRunnerOutput]:
        """Queue a step. The passes and the transfers may still be in flight when this function returns."""
        cache.copy_within(step.copies)
        cache.start(number, step.loads)
        prepared = time.perf_counter()
        started: list[Callable[[], ForwardPass]] = []
        if step.num_scheduled_tokens:
            started = [runner.start(batch, step.num_scheduled_tokens) for _ in range(step.passes)]
        cache.start(number, step.stores)

        def collect() -> ModelRunnerOutput:
            passes = [finish() for finish in started]
            transfers = cache.owed.take(number, wait=not step.num_scheduled_tokens)
            return step_output(step, passes, transfers, received=received, prepared=prepared)

        return collect

    def close(self) -> None:
        """Release the host pool and the device's memory."""
        if self._draft_worker is not None:
            self._draft_worker.close()
        if self._kept is not None:
            self._kept.close()
        if self._cache is not None:
            self._cache.close()
        self._cache = self._runner = self._model = self._exchange = self._drafter = None


def _collect(
    step: SchedulerOutput,
    number: int,
    collect: Callable[[], ModelRunnerOutput],
    owed: OwedResults,
    work: DraftWork | None,
) -> ModelRunnerOutput:
    """Collect the output of a step. If the step failed, settle the results of its transfers.

    work: what the draft model did for the step.
    """
    try:
        output = collect()
        return output if work is None else replace(output, draft_work=work)
    except BaseException:
        if step.num_scheduled_tokens:
            owed.refuse(number, (*step.loads, *step.stores), "the step failed")
        else:
            owed.forget(number)
        raise


def _fail(error: BaseException) -> ModelRunnerOutput:
    raise error


def _weights_nbytes(model: CausalLM | PackedModel) -> int:
    if isinstance(model, PackedModel):
        return model.nbytes
    tensors = [*model.parameters(), *model.buffers()] if isinstance(model, torch.nn.Module) else []
    return sum(each.nbytes for each in tensors)
