"""Construction of the engine from an EngineConfig: worker, tiers, scheduler and the loop around them."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from cache_tiers.layout.layout import LAYOUT_VERSION
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import KeyNamespace
from cache_tiers.owners.owners import Owners
from cache_tiers.registry import sealing_bytes
from engine.api.errors import EngineError
from engine.api.sampling_params import Pooling
from engine.block_tables.block_manager import BlockManager
from engine.config import EngineConfig
from engine.grammar.grammars import Grammars
from engine.grammar.thinking_budget import with_budgets
from engine.intake.prefix_keys import TenantSalts
from engine.intake.processor import ModelLimits, Processor
from engine.kv.block import common_prefix_len
from engine.kv.block_pool import BlockPool
from engine.kv.budget import KVBudget, kv_budget
from engine.kv.budget_report import memory_line, shortage, too_few_tokens, too_small
from engine.loop.adapters import invocation_problem
from engine.loop.async_llm import AsyncLLMEngine
from engine.loop.core import EngineCore, Executor
from engine.loop.llm_engine import LLMEngine
from engine.offload.connector import OffloadConnector
from engine.offload.interface import TierConnector
from engine.offload.no_tiers import NoTiers
from engine.offload.prefill_cost import PrefillCost
from engine.offload.reuse_notes import ReuseNotes, count_reuse
from engine.scheduling.queue.policy import make_queue
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.step_size import SchedulerLimits
from engine.speculation.guess import Proposer
from engine.speculation.model_drafts import ModelDrafts
from engine.speculation.phrase_lookup import PhraseLookup
from engine.speculation.phrases import Phrases
from engine.speculation.prompt_lookup import PromptLookup
from engine.text.answer_text import AnswerFormat
from engine.text.output_processor import OutputProcessor
from engine.tracing import NO_TRACE, Trace
from engine.wiring.draft_model import check_draft_model
from engine.wiring.encoders import WINDOWS, has_encoder, without_kv
from engine.wiring.open_tiers import OpenTiers, find_lower_tiers, import_store, open_tiers
from engine.worker.host_resources import available_memory, return_freed_memory
from engine.worker.loaded_model import LoadedModel
from models.adapters.adapter import Adapter
from models.chat.call_syntax.registry import AUTO
from models.chat.format import ChatFormat, Message
from models.retrieval.folder import gives_answers, read_retrieval
from models.tokenizers.text_tokenizer import TextTokenizer, load_tokenizer
from models.weights.fingerprint import model_fingerprint
from models.weights.folder import ModelFolder

if TYPE_CHECKING:
    from engine.executor.multiproc import MultiprocExecutor
    from engine.executor.uniproc import UniProcExecutor

TEXT_WINDOWS = 2
"""Tokenizer limit in context windows, so that a refusal can still state the length of a prompt that is too long."""

STORE_REST_SECONDS = 0.03
MIB = 1 << 20

Progress = Callable[[str], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """The worker side's properties that the scheduler side needs.

    window: tokens of prompt and answer together.
    """

    executor: Executor
    tokenizer: TextTokenizer
    chat_format: ChatFormat
    tiers: OpenTiers
    block_nbytes: int
    num_blocks: int
    window: int
    vocab_size: int
    namespace: KeyNamespace
    owners: Owners
    adapters: tuple[Adapter, ...]


def build_llm_engine(
    config: EngineConfig, progress: Progress, closing: ExitStack, trace: Trace = NO_TRACE
) -> tuple[LLMEngine, TextTokenizer, ChatFormat, OpenTiers]:
    """Load the model, open the tiers and connect everything. Cleanup is pushed on `closing`.

    Raise EngineError or ModelError.
    """
    config = without_kv(config)
    loaded = _load(config, progress, closing)
    return_freed_memory()
    limits = ModelLimits(
        loaded.vocab_size,
        loaded.window,
        loaded.num_blocks * config.cache.block_size,
        config.cache.block_size,
        loaded.tokenizer.eos_token_ids,
        config.scheduler.max_answer_tokens,
    )
    clock = time.monotonic
    public = (
        _public_ids(config, loaded.chat_format, progress)
        if config.cache.public_prompt and config.cache.prefix_cache
        else ()
    )
    tokenizer = loaded.tokenizer
    answers = AnswerFormat.of(tokenizer, loaded.chat_format.tools, loaded.chat_format.thinking)
    grammars = Grammars(tokenizer, loaded.vocab_size, loaded.chat_format.thinking, answers)
    closing.callback(grammars.close)
    processor = Processor(
        limits,
        loaded.namespace,
        TenantSalts(config.cache.secret, config.cache.tenants_file),
        prefix_cache=config.cache.prefix_cache,
        public=public,
        owners=loaded.owners,
        adapters=loaded.adapters,
        clock=clock,
        queue_policy=config.scheduler.queue_policy,
        queue_timeout=config.scheduler.queue_timeout or inf,
        pooling=_pooling(config),
        answers=gives_answers(ModelFolder(config.model.path)),
        encode=partial(tokenizer.encode, special=False),
        make_mask=with_budgets(grammars.mask, answers, tokenizer.encode),
    )
    make_scheduler = partial(
        _scheduler, config, loaded, clock=clock, trace=trace, reuse=_reuse(config, loaded), phrases=_phrases(config)
    )
    core = EngineCore(
        make_scheduler,
        loaded.executor,
        trace,
        config.parallel.pipeline_parallel_size,
        keeps_blocks=loaded.tiers.keeps_blocks,
    )
    outputs = OutputProcessor(answers, clock=clock, block_nbytes=loaded.block_nbytes)
    engine = LLMEngine(processor, core, outputs, grammars)
    return engine, tokenizer, loaded.chat_format, loaded.tiers


def _load(config: EngineConfig, progress: Progress, closing: ExitStack) -> _Loaded:
    """Load weights and tokenizer, and open memory and tiers.

    Independent work runs in parallel: lower tiers start their servers while torch is imported, and LMCache is imported
    while the weights are read.
    """
    check_draft_model(config)
    progress(f"loading {config.model.name} as {config.model.dtype} on {config.device.kind}")
    # Closed in reverse order: the executor releases the host pool before the store frees it.
    below = closing.enter_context(ExitStack())
    with ThreadPoolExecutor(2, thread_name_prefix="start") as threads:
        finding = threads.submit(find_lower_tiers, config, progress, below)
        executor = _open_executor(config, progress)
        closing.callback(executor.close)
        importing = threads.submit(import_store, config)
        model = executor.load()
        window = min(config.model.max_model_len or model.max_position_embeddings, model.max_position_embeddings)
        if model.block_nbytes:
            budget = _budget(config, model, window, progress)
            num_blocks = budget.pool // model.pool_block_nbytes
        else:
            budget, num_blocks = KVBudget(0, 0), WINDOWS * -(-window // config.cache.block_size)
        lower = finding.result()
        host_memory = ExitStack()
        below.callback(_close_unless_hung, executor, host_memory)
        namespace = _namespace(config, model)
        owners = Owners(config.scheduler.tenant_weights)
        # A thread that meets the failing import of another gets a misleading error.
        importing.result()
        opening = threads.submit(
            open_tiers,
            config,
            model.block_nbytes,
            lower,
            progress,
            host_memory,
            cpu_bytes=budget.cpu_tier,
            fingerprint=namespace.fingerprint(),
            owners=owners,
        )
        executor.init_kv(num_blocks)
        tokenizer = load_tokenizer(config.model.path, TEXT_WINDOWS * window)
        chat_format = ChatFormat.load(
            config.model.path, tokenizer, None if config.model.tool_format == AUTO else config.model.tool_format
        )
        tiers = opening.result()
    if tiers.store is not None:
        executor.attach_host_pool(tiers.store.pool, tiers.shared_pool)
    executor.begin()
    return _Loaded(
        executor=executor,
        tokenizer=tokenizer,
        chat_format=chat_format,
        tiers=tiers,
        block_nbytes=model.block_nbytes,
        num_blocks=num_blocks,
        window=window,
        vocab_size=model.vocab_size,
        namespace=namespace,
        owners=owners,
        adapters=_checked(model.adapters, tokenizer),
    )


def _checked(adapters: tuple[Adapter, ...], tokenizer: TextTokenizer) -> tuple[Adapter, ...]:
    """Return `adapters`. Raise EngineError if a text that users write could activate one."""
    for each in adapters:
        if problem := invocation_problem(each, tokenizer.control_tokens):
            raise EngineError(f"--adapters-dir: {problem}")
    return adapters


def _pooling(config: EngineConfig) -> Pooling:
    """Return the way to make embeddings: the configured one, the model's own, or else the mean."""
    if config.model.pooling != "auto":
        return config.model.pooling
    pooling = ModelFolder(config.model.path).pooling() or "mean"
    if pooling == "first" and not has_encoder(config):
        raise EngineError(
            f"{config.model.path} pools embeddings by the first token, which sees no other one in a decoder: choose "
            "--pooling"
        )
    return pooling


def _close_unless_hung(executor: Executor, host_memory: ExitStack) -> None:
    """Free host memory unless a hung thread may still write to it. In that case the memory lives until exit."""
    if not executor.is_hung:
        host_memory.close()


def _open_executor(config: EngineConfig, progress: Progress) -> "UniProcExecutor | MultiprocExecutor":
    # Importing torch takes a second, so no module imported above imports it.
    try:
        if config.parallel.num_processes > 1:
            from engine.executor.multiproc import MultiprocExecutor

            return MultiprocExecutor(config, progress)
        from engine.executor.uniproc import UniProcExecutor
        from engine.worker.encoder_worker import EncoderWorker
        from engine.worker.worker import Worker
    except RuntimeError as error:
        # torch loads every installed device extension, and fails if one of them fails.
        raise EngineError(f"torch cannot be imported (run `ebb doctor` to see what is missing): {error}") from error
    return UniProcExecutor((EncoderWorker if has_encoder(config) else Worker)(config, progress=progress))


def _namespace(config: EngineConfig, model: LoadedModel) -> KeyNamespace:
    return KeyNamespace(
        model_fingerprint=model_fingerprint(config.model.path),
        numerics=model.numerics,
        kv_dtype=config.model.dtype,
        block_size=config.cache.block_size,
        layout_version=LAYOUT_VERSION,
        # A block outside the devices holds the parts of all processes, in their order.
        tp_rank=0,
        tp_size=model.partition.ranks,
        stages=model.partition.layers,
        tenant_salt=b"",
    )


def _public_ids(config: EngineConfig, chat_format: ChatFormat, progress: Progress) -> list[int]:
    """Return the token ids with which every prompt with the public system prompt begins.

    Raise EngineError if they do not fill a block, ChatFormatError if the model's template takes no system prompt.
    """
    system = Message("system", config.cache.public_prompt)
    first, *others = (chat_format.render([system, Message("user", content)]) for content in ("a", "\n", " "))
    ids = first[: min(common_prefix_len(first, other) for other in others)]
    blocks = len(ids) // config.cache.block_size
    if not blocks:
        raise EngineError(
            f"--public-prefix: {len(ids)} tokens do not fill one block of {config.cache.block_size}, so nothing can be "
            "shared. Omit the option, or use a longer system prompt."
        )
    progress(f"the public prefix has {len(ids)} tokens: {blocks} blocks shared by all tenants")
    return ids


def _budget(config: EngineConfig, model: LoadedModel, window: int, progress: Progress) -> KVBudget:
    """Divide memory between the device pool and the CPU tier. Raise EngineError if the pool holds no block."""
    # An accelerator belongs to one engine.
    free = model.free // config.parallel.machine_share if config.device.kind == "cpu" else model.free
    block_nbytes = model.pool_block_nbytes
    cpu_memory = config.cache.tiers.cpu_memory if config.cache.tiers is not None else 0
    window_nbytes = -(-window // config.cache.block_size) * block_nbytes
    host_free = None if config.device.kind == "cpu" else available_memory() // config.parallel.machine_share
    budget = kv_budget(config.cache.kv_memory, cpu_memory, free=free, window_nbytes=window_nbytes, host_free=host_free)
    num_blocks = budget.pool // block_nbytes
    if num_blocks < 1:
        raise EngineError(too_small(budget.pool, window, block_nbytes, config.cache.block_size))
    source = "--kv-memory" if config.cache.kv_memory else f"of {free // MIB} MiB free"
    progress(
        f"KV memory: {budget.pool // MIB} MiB ({source}) for {num_blocks * config.cache.block_size} tokens "
        f"in {num_blocks} blocks of {block_nbytes / MIB:.2f} MiB"
    )
    if config.cache.tiers is not None:
        redis = config.cache.tiers.redis_memory if config.cache.tiers.redis_url == "auto" else 0
        sealing = sealing_bytes(config.cache.tiers, model.block_nbytes)
        progress(memory_line(budget, redis, sealing, weights=model.weights, free=free, host_free=host_free))
        if problem := shortage(budget, redis, sealing, free=free, host_free=host_free):
            logger.warning("%s", problem)
    if problem := too_few_tokens(num_blocks * config.cache.block_size, window, block_nbytes, config.cache.block_size):
        logger.warning("%s", problem)
    return budget


def build_engine(config: EngineConfig, progress: Progress, trace: Trace = NO_TRACE) -> AsyncLLMEngine:
    """Build the whole engine for a server. This blocks for seconds; `progress` gets a sentence for each long step."""
    config = without_kv(config)
    with ExitStack() as closing:
        engine, tokenizer, chat_format, tiers = build_llm_engine(config, progress, closing, trace)
        if not has_encoder(config):
            engine.grammars.load()
        retrieval = read_retrieval(ModelFolder(config.model.path), tokenizer, config.model.rerank_words)
        to_close = closing.pop_all()

    return AsyncLLMEngine(
        engine,
        config=config,
        tokenizer=tokenizer,
        chat_format=chat_format,
        sampling_defaults=ModelFolder(config.model.path).sampling_defaults(),
        retrieval=retrieval,
        tier_notes=tiers.notes,
        flush=tiers.store.flush if tiers.store is not None else lambda _: True,
        on_close=to_close.close,
    )


def _reuse(config: EngineConfig, loaded: _Loaded) -> ReuseNotes | None:
    """Begin to count what tiers of other sizes would find; None if no prefix is reused."""
    if not config.cache.prefix_cache:
        return None
    tiers = config.cache.tiers
    return count_reuse(
        loaded.tiers.store,
        loaded.owners,
        num_blocks=loaded.num_blocks,
        block_size=config.cache.block_size,
        block_nbytes=loaded.block_nbytes,
        eviction=tiers.eviction if tiers is not None else "lru",
        num_engines=config.parallel.machine_share,
    )


def _phrases(config: EngineConfig) -> Phrases | None:
    """Return a store of phrases; None if nothing is drafted, or if no answer leaves anything for later requests."""
    is_wanted = config.speculation.prompt_lookup and config.cache.prefix_cache
    return Phrases(config.cache.block_size) if is_wanted else None


def _scheduler(
    config: EngineConfig,
    loaded: _Loaded,
    former: Scheduler | None,
    *,
    clock: Callable[[], float],
    trace: Trace,
    reuse: ReuseNotes | None,
    phrases: Phrases | None,
) -> Scheduler:
    """Build a scheduler. `former` is the one in doubt that it replaces, if any."""
    store, manager = loaded.tiers.store, None
    if store is not None:
        manager = TierManager(
            store,
            LoadCost(loaded.block_nbytes),
            clock=clock,
            rest=STORE_REST_SECONDS if config.parallel.role != "prefill" else 0.0,
            owners=loaded.owners,
        )
        if former is not None and former.connector.tiers is not None:
            manager.succeed(former.connector.tiers)
    pool = BlockPool(loaded.num_blocks, loaded.owners, on_evict=manager.stores.forget if manager is not None else None)
    blocks = BlockManager(pool, config.cache.block_size, loaded.block_nbytes, prefix_cache=config.cache.prefix_cache)
    # In a pipeline, a second pass would wait for the tokens of the last stage.
    passes = config.scheduler.decode_passes if config.parallel.pipeline_parallel_size == 1 else 1
    limits = SchedulerLimits(
        config.scheduler.max_num_seqs,
        config.scheduler.max_num_batched_tokens,
        config.scheduler.itl_target,
        passes,
        config.parallel.pipeline_parallel_size,
    )
    queue = make_queue(
        config.scheduler.queue_policy,
        max_waiting=config.scheduler.max_waiting,
        max_wait=config.scheduler.max_queue_wait,
        weights=config.scheduler.tenant_weights,
    )
    connector: TierConnector = NoTiers()
    if manager is not None:
        connector = OffloadConnector(
            manager, blocks, PrefillCost(), role=config.parallel.role, clock=clock, trace=trace
        )
    proposer: Proposer | None = PromptLookup() if config.speculation.prompt_lookup else None
    if phrases is not None:
        proposer = PhraseLookup(PromptLookup(), phrases)
    return Scheduler(
        limits,
        blocks,
        connector,
        queue,
        clock=clock,
        proposer=proposer,
        reuse=reuse,
        phrases=phrases,
        model_drafts=ModelDrafts() if config.speculation.draft_model is not None else None,
    )
