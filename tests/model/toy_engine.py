"""The whole engine with the toy worker and the toy tiers, on the test's event loop."""

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import KeyNamespace
from engine.api.sampling_params import SamplingParams
from engine.block_tables.block_manager import BlockManager
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.executor.step_timing import StepLimit
from engine.executor.workers import WorkersLostError, WorkersState
from engine.grammar.grammars import Grammars
from engine.intake.prefix_keys import TenantSalts
from engine.intake.processor import ModelLimits, Processor
from engine.kv.block_pool import BlockPool
from engine.loop.async_llm import AsyncLLMEngine
from engine.loop.core import EngineCore
from engine.loop.llm_engine import LLMEngine
from engine.offload.connector import OffloadConnector
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.queue.policy import make_queue
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.step_size import SchedulerLimits
from engine.text.answer_text import AnswerFormat
from engine.text.output_processor import OutputProcessor
from models.adapters.adapter import Adapter
from models.chat.format import ChatFormat
from models.retrieval.folder import Retrieval
from models.tokenizers.text_tokenizer import TextTokenizer
from tests.model.toy_store import ToyStore
from tests.model.toys import BelievedCost, HalfRight, ToyMask, ToyWorker

BLOCK = 4
VOCAB = 16
EOS = 15
POOL_BLOCKS = 24
STEP_SECONDS = 0.002
HOPS = 8
"""Turns of the event loop that a step takes, so that the next step is scheduled while it is in flight."""


class ToyExecutor:
    """Executor that runs each step some turns of the event loop after its submission.

    failed: ids of the requests in steps that raised an injected error.
    wrong: failed checks of the toy worker, which are real defects.
    held: steps start and never end.
    """

    def __init__(self, worker: ToyWorker) -> None:
        self.worker = worker
        self.failed: set[str] = set()
        self.wrong: list[AssertionError] = []
        self.step_limit: StepLimit | None = StepLimit()
        self.on_lost: Callable[[], None] = lambda: None
        self.is_hung = False
        self.held = False
        self._before: Future[ModelRunnerOutput] | None = None

    def execute(self, output: SchedulerOutput) -> Future[ModelRunnerOutput]:
        future: Future[ModelRunnerOutput] = Future()
        assert self.step_limit is not None
        self.step_limit.on_sent()
        future.add_done_callback(lambda _: self.step_limit.on_ended() if self.step_limit is not None else None)
        if not self.held:
            ahead = self._before if self._before is not None and not self._before.done() else None
            self._run_later(output, future, ahead, HOPS)
        self._before = future
        return future

    def _run_later(
        self,
        output: SchedulerOutput,
        future: Future[ModelRunnerOutput],
        before: Future[ModelRunnerOutput] | None,
        hops: int,
    ) -> None:
        loop = asyncio.get_running_loop()
        if hops or (before is not None and not before.done()):
            loop.call_soon(self._run_later, output, future, before, max(0, hops - 1))
            return
        try:
            result = self.worker.execute(output)
        except AssertionError as error:
            # Raised by the toy worker's own checks, so this defect was not injected. A step after a failed one may
            # need what that did not compute; its results are dropped.
            if before is None or before.exception() is None:
                self.wrong.append(error)
            self.worker.fail(output)
            future.set_exception(error)
        except BaseException as error:
            self.failed.update(output.num_scheduled_tokens)
            self.worker.fail(output)
            future.set_exception(error)
        else:
            now = time.perf_counter()
            future.set_result(replace(result, started=now - STEP_SECONDS, ended=now, sent=now))

    def load_adapter(self, name: str) -> Adapter:
        raise NotImplementedError

    def drop_adapter(self, digest: str) -> None:
        raise NotImplementedError

    def restart(self) -> None:
        pass

    @property
    def lost(self) -> WorkersLostError | None:
        return None

    @property
    def state(self) -> WorkersState | None:
        return None

    def close(self) -> None:
        pass


class _ToyGrammars:
    """Grammars of toy masks, which need no preparation."""

    async def prepare(self, params: SamplingParams, tenant: str) -> None:
        pass


@dataclass
class ToyEngine:
    """The real engine from the stream to the block pool, with a toy model, store and texts.

    late: see `ToyWorker`.
    cpu_blocks: capacity of the CPU tier.
    """

    speculation: bool = False
    late: random.Random | None = None
    cpu_blocks: int = 12
    store: ToyStore = field(init=False)
    worker: ToyWorker = field(init=False)
    executor: ToyExecutor = field(init=False)
    engine: AsyncLLMEngine = field(init=False)

    def __post_init__(self) -> None:
        self.store = ToyStore(self.cpu_blocks, max_window=3, speed=LinkSpeed(0.06, 1000.0))
        self.worker = ToyWorker(BLOCK, VOCAB, self.store.host, self.late)
        self.executor = ToyExecutor(self.worker)
        window = POOL_BLOCKS * BLOCK
        processor = Processor(
            ModelLimits(VOCAB, window, window, BLOCK, (EOS,)),
            KeyNamespace(
                model_fingerprint="toy",
                numerics="toy",
                kv_dtype="toy",
                block_size=BLOCK,
                layout_version=1,
                tp_rank=0,
                tp_size=1,
                tenant_salt=b"",
            ),
            TenantSalts(b"secret"),
            prefix_cache=True,
            clock=time.monotonic,
            make_mask=lambda params, *_: ToyMask() if params.form is not None else None,
        )
        outputs = OutputProcessor(
            AnswerFormat(token_bytes=lambda id_: f"{id_} ".encode()), clock=time.monotonic, block_nbytes=1
        )
        core = EngineCore(self._make_scheduler, self.executor)
        # Prompts arrive as tokens, so no tokenizer is needed.
        tokenizer, chat_format = cast("TextTokenizer", object()), cast("ChatFormat", object())
        grammars = cast("Grammars", _ToyGrammars())
        self.engine = AsyncLLMEngine(
            LLMEngine(processor, core, outputs, grammars),
            config=EngineConfig(
                model=ModelConfig(path=Path("toy"), name="toy"),
                cache=CacheConfig(tiers=None, secret=b"secret"),
            ),
            tokenizer=tokenizer,
            chat_format=chat_format,
            sampling_defaults={},
            retrieval=Retrieval(),
            tier_notes={},
            flush=lambda _: True,
            on_close=lambda: None,
        )

    @property
    def scheduler(self) -> Scheduler:
        return self.engine._engine.core.scheduler

    def _make_scheduler(self, former: Scheduler | None) -> Scheduler:
        clock = time.monotonic
        tiers = TierManager(self.store, LoadCost(1, deadline=3.0), clock=clock, rest=0.0)
        if former is not None and former.connector.tiers is not None:
            if self.worker.pending:
                self.executor.wrong.append(AssertionError("a new scheduler allocates blocks of copies in flight"))
            tiers.succeed(former.connector.tiers)
        pool = BlockPool(POOL_BLOCKS, on_evict=tiers.stores.forget)
        blocks = BlockManager(pool, BLOCK, 1, prefix_cache=True)
        prefill = BelievedCost()
        prefill.token_seconds = 0.05
        scheduler = Scheduler(
            SchedulerLimits(max_num_seqs=4, max_num_batched_tokens=9),
            blocks,
            OffloadConnector(tiers, blocks, prefill, clock=clock),
            make_queue("fair", max_waiting=64, max_wait=30.0, weights={}),
            clock=clock,
            proposer=HalfRight(VOCAB) if self.speculation else None,
        )
        scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"any": 1}), 0.001)
        return scheduler


def text_of(token_ids: list[int], params: SamplingParams) -> str:
    """Return the text of an answer, without the token that ended it."""
    return "".join(f"{id_} " for id_ in token_ids if id_ not in params.ending_ids)
