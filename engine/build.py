"""Wiring of the engine: worker, tiers, scheduler and the loop around them, from an EngineConfig."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from cache_tiers.block_key import KeyNamespace
from cache_tiers.layout import LAYOUT_VERSION, BlockLayout
from cache_tiers.manager import TierManager
from engine.async_llm import AsyncLLMEngine
from engine.config import EngineConfig
from engine.core import EngineCore
from engine.errors import EngineError
from engine.kv.block_manager import BlockManager
from engine.kv.block_pool import BlockPool
from engine.llm_engine import LLMEngine
from engine.open_tiers import OpenTiers, find_redis, import_store, open_tiers
from engine.output_processor import OutputProcessor
from engine.processor import ModelLimits, Processor
from engine.scheduling.queue.policy import make_queue
from engine.scheduling.scheduler import Scheduler, SchedulerLimits
from engine.scheduling.tiering import Tiering
from engine.worker.host_resources import return_freed_memory
from models.fingerprint import model_fingerprint
from models.pangu.chat_format import ChatFormat
from models.tokenizer import Tokenizer

# An operation that Redis does not answer ends after 1 s by itself: this is for what else may go wrong on the way.
LOAD_DEADLINE_SECONDS = 2.0
MIB = 1 << 20

Progress = Callable[[str], None]

logger = logging.getLogger(__name__)


def build_llm_engine(
    config: EngineConfig, progress: Progress, closing: ExitStack
) -> tuple[LLMEngine, Tokenizer, OpenTiers]:
    """Load the model, open the tiers, wire the rest. What must be closed later is pushed on `closing`.

    What does not wait for each other happens at once: Redis loads its snapshot while torch is imported, LMCache is
    imported while the weights are read, and touches the CPU tier's pages while the tokenizer is made.
    Raises EngineError, ModelError.
    """
    progress(f"loading {config.model_name} as {config.dtype} on {config.device}")
    # Closed in reverse: the executor lets go of the host pool before the store frees it.
    below = closing.enter_context(ExitStack())
    with ThreadPoolExecutor(2, thread_name_prefix="start") as beside:
        finding = beside.submit(find_redis, config, progress, below)
        # torch takes a second to import, which is why nothing above imports it.
        from engine.executor.uniproc import UniProcExecutor
        from engine.worker.worker import Worker

        beside.submit(import_store, config)
        worker = Worker(config, progress=progress)
        executor = UniProcExecutor(worker)
        closing.callback(executor.close)
        executor.call(worker.load)
        layout = worker.kv_layout()
        num_blocks = _num_blocks(config, layout)
        progress(
            f"taking {num_blocks * layout.nbytes // MIB} MiB for {num_blocks} KV blocks of "
            f"{layout.nbytes / MIB:.2f} MiB"
        )
        opening = beside.submit(open_tiers, config, layout, finding.result(), progress, below)
        executor.call(worker.init_kv, num_blocks)
        tokenizer = Tokenizer.load(config.model_path)
        tiers = opening.result()
    if tiers.store is not None:
        executor.call(worker.attach_host_pool, tiers.store.pool)
    return_freed_memory()

    window = min(config.max_model_len or worker.model.max_position_embeddings, worker.model.max_position_embeddings)
    limits = ModelLimits(
        worker.model.vocab_size, window, num_blocks * config.block_size, config.block_size, tokenizer.eos_token_ids
    )
    namespace = KeyNamespace(
        model_fingerprint=model_fingerprint(config.model_path),
        numerics=worker.numerics_id(),
        kv_dtype=config.dtype,
        block_size=config.block_size,
        layout_version=LAYOUT_VERSION,
        tp_rank=0,
        tp_size=1,
        tenant_salt=b"",
    )
    clock = time.monotonic
    processor = Processor(limits, namespace, config.secret, prefix_cache=config.prefix_cache, clock=clock)
    core = EngineCore(_scheduler(config, layout, num_blocks, tiers, clock), executor)
    engine = LLMEngine(processor, core, OutputProcessor(tokenizer.token_bytes, clock=clock))
    return engine, tokenizer, tiers


def build_engine(config: EngineConfig, progress: Progress) -> AsyncLLMEngine:
    """The whole engine for a server. Blocks for seconds; `progress` gets a sentence for each long step."""
    with ExitStack() as closing:
        engine, tokenizer, tiers = build_llm_engine(config, progress, closing)
        chat_format = ChatFormat.load(config.model_path, tokenizer)
        to_close = closing.pop_all()

    def on_close(flush_seconds: float) -> None:
        if tiers.store is not None and not tiers.store.flush(flush_seconds):
            logger.warning(
                "Redis did not get every KV block in %g s: some prefixes will be computed again", flush_seconds
            )
        to_close.close()

    return AsyncLLMEngine(
        engine,
        config=config,
        tokenizer=tokenizer,
        chat_format=chat_format,
        redis_note=tiers.redis_note,
        on_close=on_close,
    )


def _num_blocks(config: EngineConfig, layout: BlockLayout) -> int:
    num_blocks = config.kv_memory // layout.nbytes
    if num_blocks < 1:
        raise EngineError(
            f"--kv-memory {config.kv_memory // MIB}MiB does not hold one KV block of {layout.nbytes / MIB:.1f} MiB "
            f"({config.block_size} tokens); give at least {-(-layout.nbytes // MIB)}MiB"
        )
    return num_blocks


def _scheduler(
    config: EngineConfig, layout: BlockLayout, num_blocks: int, tiers: OpenTiers, clock: Callable[[], float]
) -> Scheduler:
    manager = None
    if tiers.store is not None:
        manager = TierManager(tiers.store, clock=clock, deadline=LOAD_DEADLINE_SECONDS, redis=tiers.redis)
    pool = BlockPool(num_blocks, on_evict=manager.forget if manager is not None else None)
    blocks = BlockManager(pool, config.block_size, layout.nbytes, prefix_cache=config.prefix_cache)
    limits = SchedulerLimits(config.max_num_seqs, config.max_num_batched_tokens, config.itl_target)
    queue = make_queue(
        config.queue_policy,
        max_waiting=config.max_waiting,
        max_wait=config.max_queue_wait,
        weights=config.tenant_weights,
    )
    tiering = Tiering(manager, blocks) if manager is not None else None
    return Scheduler(limits, blocks, tiering, queue, clock=clock)
