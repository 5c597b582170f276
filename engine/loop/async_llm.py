"""The engine on an asyncio loop, which serves sockets while the model thread computes a step."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.api.adapter_refusals import no_folder, unknown
from engine.api.errors import NotFoundError, NotReadyError
from engine.api.generate_request import GenerateRequest
from engine.api.request_stream import RequestStream
from engine.api.stored_tokens import Trail
from engine.config import EngineConfig
from engine.loop.adapters import Adapters
from engine.loop.engine_loop import STALLED_POLL_SECONDS, EngineLoop
from engine.loop.llm_engine import LLMEngine
from engine.loop.stats import EngineStats
from engine.loop.stored_prefixes import StoredPrefixes
from engine.request.request import Request
from engine.scheduling.scheduler import Scheduler
from models.adapters.adapter import Adapter
from models.chat.format import ChatFormat
from models.retrieval.folder import Retrieval
from models.tokenizers.text_tokenizer import TextTokenizer

ABORT_SECONDS = 5.0
"""Longest wait of a stop for the step that computes aborted requests, after the time for draining."""
FLUSH_SECONDS = 2.0
LOOP_BROKE = "The engine failed and the server is restarting. Try again in a few seconds."
LONG_PROMPT = 8192
"""Prompt length in tokens from which checking and hashing the prompt takes more than a millisecond."""

T = TypeVar("T")
U = TypeVar("U")

logger = logging.getLogger(__name__)


class AsyncLLMEngine:
    """The engine as its callers see it. Every method belongs to the thread of the event loop that called `start`.

    tier_notes: for each lower tier, the reason why it is off, in a sentence; empty while it is on.
    sampling_defaults: sampling parameters recommended by the model's authors, for callers that make SamplingParams.
    retrieval: uses of the model's vectors.
    keys: keys of the blocks of prompts.
    prefixes: tier lookups and prefetches for prompts that have not been submitted.
    gave_up: set once the engine has failed permanently. By then every stream has ended with "abort", as during a stop,
        so that runs can be handed over. The process should call `stop` and exit with a non-zero status.
    """

    def __init__(
        self,
        engine: LLMEngine,
        *,
        config: EngineConfig,
        tokenizer: TextTokenizer,
        chat_format: ChatFormat,
        sampling_defaults: Mapping[str, float],
        retrieval: Retrieval,
        tier_notes: Mapping[TierId, str],
        flush: Callable[[float], bool],
        on_close: Callable[[], None],
    ) -> None:
        """Prepare the engine.

        flush: waits at most the given seconds, on another thread, until the lower tiers have all blocks and erased what
            had to be. Returns whether they have.
        on_close: called on another thread once the tiers are flushed.
        """
        self.config = config
        self.tokenizer = tokenizer
        self.chat_format = chat_format
        self.sampling_defaults = sampling_defaults
        self.retrieval = retrieval
        self.tier_notes = tier_notes
        self.model_name = config.model.name
        self.model_fingerprint = engine.processor.model_fingerprint
        self.kv_fingerprint = engine.processor.kv_fingerprint
        self.keys = engine.processor.keys
        self.adapters: Mapping[str, Adapter] = engine.processor.adapters
        folder = config.model.adapters_dir
        self._adapters = Adapters(engine, folder, tokenizer.control_tokens) if folder is not None else None
        self.max_model_len = engine.processor.limits.usable_window
        self.model_window = engine.processor.limits.window
        self._engine = engine
        self._flush = flush
        self._on_close = on_close
        on_finished = self._adapters.drop_unused if self._adapters is not None else lambda: None
        self._loop = EngineLoop(engine, on_finished=on_finished)
        self._closed = False
        self.gave_up = self._loop.gave_up
        self.prefixes = StoredPrefixes(
            engine.processor,
            engine.core,
            wake=self._loop.wake.set,
            is_serving=lambda: not (self.is_broken or self._loop.is_stopping),
        )

    async def start(self) -> None:
        """Start the loop task."""
        self._loop.start()

    async def generate(self, request: GenerateRequest) -> list[RequestStream]:
        """Queue a request, and return a stream for each of its answers. All are queued, or none.

        A long prompt is hashed and an answer form compiled on other threads first. Raise InvalidRequestError naming the
        field, OverloadedError or NotReadyError.
        """
        self._check_serving()
        await self._prepare(request)
        self._check_serving()
        # Nothing is awaited from here on, so a caller that is cancelled leaves nothing queued.
        queued = self._engine.add_request(request)
        answers = [queued]
        try:
            for choice in range(1, request.num_answers):
                answers.append(self._engine.add_fork(queued.request_id, choice))  # noqa: PERF401
            streams = [self._stream(answer) for answer in answers]
        except BaseException:
            for answer in answers:
                self.abort(answer.request_id)
            raise
        if (last := self._engine.end_if_complete(queued)) is not None:
            self._loop.deliver(last)
        self._loop.watch_deadlines()
        self._loop.wake.set()
        return streams

    def _check_serving(self) -> None:
        if self.is_broken:
            raise NotReadyError(LOOP_BROKE)
        if self._loop.task is None or self._loop.is_stopping:
            raise NotReadyError("the engine is stopping" if self._loop.is_stopping else "the engine has not started")

    async def _prepare(self, request: GenerateRequest) -> None:
        await self._engine.grammars.prepare(request.params, request.tenant)
        if len(request.prompt_token_ids) >= LONG_PROMPT:
            await asyncio.to_thread(self._engine.processor.prepare, request)

    def _stream(self, request: Request) -> RequestStream:
        stream = RequestStream(
            request.request_id,
            request.sampling,
            self.abort,
            self._engine.text_before(request),
            self._engine.reasoning_before(request),
        )
        self._loop.streams[request.request_id] = stream
        return stream

    def abort(self, request_id: str) -> None:
        """End a request with a last output of "abort". Do nothing if the request has already ended."""
        output = self._engine.abort_request(request_id) if not self.is_broken else None
        if output is not None:
            self._loop.deliver(output)
            self._loop.wake.set()

    def tenant_salt(self, tenant: str) -> bytes:
        """Return 32 secret bytes, which change when the tenant is deleted.

        Anything stored under a name derived from the former bytes can then no longer be found.
        """
        return self._engine.processor.salts.salt(tenant)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""
        return self._engine.ids_of_tenant(tenant)

    async def delete_tenant(self, tenant: str) -> None:
        """Make the tenant's blocks unreachable in every tier, also after a restart, and abort its requests.

        Raise EngineError, without any change, if the deletion cannot be made durable.
        """
        await asyncio.to_thread(self._engine.processor.salts.rotate, tenant)
        self._end_all_of(tenant)

    def adopt_deletions(self, generations: dict[str, int]) -> None:
        """Take over the record of deleted tenants, before the first request. See `TenantSalts`."""
        self._engine.processor.salts.adopt_all(generations)

    def deletions_of(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._engine.processor.salts.generation(tenant)

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Follow a deletion that the owner of the record of deleted tenants has made durable."""
        self._engine.processor.salts.adopt(tenant, deletions)
        self._end_all_of(tenant)

    def _end_all_of(self, tenant: str) -> None:
        for output in self._engine.abort_requests_of(tenant) if not self.is_broken else ():
            self._loop.deliver(output)
        self._loop.wake.set()

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str = "local") -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use."""
        return await asyncio.to_thread(self.keys.of_trails, trails, tenant)

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Erase blocks from all tiers, and wait until that is done.

        again: leave the blocks that requests used since the last attempt.

        Blocks that are being copied, loaded or written are erased once that has ended, also while the engine stops.
        Return False if it could not be done, because the engine has ended or a lower tier is away or refuses it.
        """
        if self._has_ended():
            return False
        if again:
            keys = self._engine.core.ask(lambda scheduler: scheduler.connector.to_repeat(keys), otherwise=keys)
        self._engine.core.erase(keys)
        self._loop.wake.set()
        while (erased := self._engine.core.erased(keys)) is None:
            if self._has_ended():
                return False
            await asyncio.sleep(STALLED_POLL_SECONDS)
        return erased

    def _has_ended(self) -> bool:
        return self.is_broken or self._closed

    def stats(self) -> EngineStats:
        """Return a snapshot of the statistics. The call is cheap."""
        return self._engine.stats()

    def ask(self, call: Callable[[Scheduler], T], otherwise: U) -> T | U:
        """Call the scheduler for information. Return `otherwise` while its state is in doubt."""
        return self._engine.core.ask(call, otherwise)

    @property
    def is_resident(self) -> bool:
        """Whether the weights are in memory, as they are for as long as the process lives."""
        return True

    @property
    def is_idle(self) -> bool:
        """Whether no request, copy or load is in progress."""
        return self._loop.is_idle

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:
        """Refuse new requests, drain running ones for `drain_seconds`, abort the rest and flush the tiers.

        patience: seconds beyond FLUSH_SECONDS in which the lower tiers may receive the blocks.
        """
        self._loop.stop_when_idle()
        if self._loop.task is not None:
            done, _ = await asyncio.wait([self._loop.task], timeout=drain_seconds)
            if not done:
                for request_id in list(self._loop.streams):
                    self.abort(request_id)
                await asyncio.wait([self._loop.task], timeout=ABORT_SECONDS)
        self._loop.end_deadlines()
        await self._flush_tiers(FLUSH_SECONDS + patience)
        self._closed = True
        await asyncio.to_thread(self._on_close)

    async def _flush_tiers(self, seconds: float) -> None:
        """Let the lower tiers receive all blocks, and erase those that were erased while they were being written."""
        ends = time.monotonic() + seconds
        is_flushed = await asyncio.to_thread(self._flush, seconds)
        while not (self.is_broken or self.is_idle) and (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(STALLED_POLL_SECONDS)
            self._engine.core.erase(())
            is_flushed = await asyncio.to_thread(self._flush, left) and is_flushed
        if not is_flushed:
            logger.warning(
                "the lower tiers did not receive every KV block within %g s; some prefixes will be recomputed",
                seconds,
            )

    async def load_adapter(self, name: str, *, in_place: bool) -> Adapter:
        """Read an adapter of the configured folder, which requests may name from now on. Raise as `Adapters.load`."""
        if self._adapters is None:
            raise no_folder()
        return await self._adapters.load(name, in_place=in_place)

    async def unload_adapter(self, name: str) -> None:
        """Refuse further requests for an adapter. Requests that run end as they would. Raise NotFoundError."""
        if self._adapters is None:
            raise unknown(name, self.adapters)
        await self._adapters.unload(name)

    def drain_replica(self, index: int) -> None:
        """Raise NotFoundError: the engine is in this process."""
        raise NotFoundError(
            f"There is no replica {index}: the engine is in the server's process", code="replica_not_found"
        )

    @property
    def is_broken(self) -> bool:
        """Whether the engine has failed permanently and serves no more requests."""
        return self._loop.is_broken

    @property
    def why_gave_up(self) -> str:
        """Reason of a permanent failure, in a sentence; empty until `gave_up` is set."""
        return self._loop.why_gave_up
