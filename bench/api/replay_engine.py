"""Engine that computes nothing: the first token at once, then one for every stream with each step of the schedule.

Everything else is the real engine's: the requests that it refuses, and the streams in which unread outputs merge. A
step hands over all of its tokens at one moment, as a step of a batch does. For a server this is the hardest case.
"""

import asyncio
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.api.byte_tokenizer import SAID, VOCABULARY, ByteChatFormat, ByteTokenizer
from bench.api.schedule import STEP_SECONDS, clock, steps_until
from cache_tiers.block_key import BlockKey, KeyNamespace
from cache_tiers.histogram import Histogram
from cache_tiers.tier import TierId
from engine.config import EngineConfig
from engine.errors import NotFoundError, NotReadyError
from engine.generate_request import GenerateRequest
from engine.outputs import FinishReason, KVReceipt, RequestOutput, Usage
from engine.processor import ModelLimits, Processor
from engine.request import Request
from engine.request_stream import RequestStream
from engine.stats import EngineStats
from engine.tenants import TenantSalts
from engine.trail import Trail

MODEL = "replay"
WINDOW = 8192
ANSWER_TOKENS = 12
"""Length of an answer that may end by itself, unless the engine has words."""

EMBEDDING = struct.pack("<4f", 1.0, 0.0, 0.0, 0.0)
"""Embedding of every text."""


@dataclass(slots=True, eq=False)
class _Answer:
    """Progress of one answer.

    first: step at which the answer began.
    length: number of tokens at which the answer ends.
    reason: finish reason at that length.
    said: number of tokens emitted, including those of a resumed request.
    """

    request: Request
    stream: RequestStream
    first: int
    length: int
    reason: FinishReason
    said: int = 0


def no_stats() -> EngineStats:
    """Return the statistics of an engine that has done nothing."""
    nothing = Histogram.of_seconds()
    return EngineStats(
        running=0,
        waiting=0,
        loading=0,
        following=0,
        preempted=0,
        blocks_total=1,
        blocks_used=0,
        blocks_cached=0,
        block_nbytes=1,
        preemptions=0,
        reclaims=0,
        requests_finished={},
        generation_tokens=0,
        reused_tokens=Counter(),
        computed_tokens=0,
        unstored_blocks=0,
        checks={"clean": 0, "failed": 0},
        step_seconds=nothing,
        gap_seconds=nothing,
        batch_sizes=Histogram.of_counts(),
        ttft_seconds=nothing,
        queue_seconds={},
        inter_token_seconds=nothing,
        tiers=None,
    )


class NoPrefixes:
    """Prefix operations of an engine without KV."""

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """Do nothing: there is nothing to load."""
        del name, token_ids, tenant
        return False

    def leave(self, name: str) -> None:
        """Do nothing: nothing was loaded."""

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        """Return None for each prefix."""
        del tenant
        return [None] * len(prefixes)


class ReplayEngine:
    """Implementation of `app.host.backend.Backend`."""

    def __init__(self, step_seconds: float = STEP_SECONDS, words: Sequence[str] = (), window: int = WINDOW) -> None:
        """Create an engine that has not started.

        step_seconds: time between two tokens of a stream.
        words: tokens of every answer. An answer that may end by itself has each of them once. Others repeat them from
            the first after the last. Without words, a token names its step.
        window: context window in tokens.
        """
        self.model_name = MODEL
        self.kv_fingerprint = MODEL
        self.max_model_len = window
        self.config = EngineConfig(Path(MODEL), MODEL, None, b"secret", prefix_cache=False)
        self.tier_notes = {"redis": "off"}
        self.is_broken = False
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""
        self.sampling_defaults: dict[str, float] = {}
        self.tokenizer = ByteTokenizer()
        self.chat_format = ByteChatFormat()
        self.prefixes = NoPrefixes()
        self._processor = Processor(
            ModelLimits(VOCABULARY, window, window, self.config.block_size, ()),
            KeyNamespace(MODEL, MODEL, "bfloat16", self.config.block_size, 1, 0, 1, b""),
            TenantSalts(b"secret"),
            prefix_cache=False,
            clock=clock,
        )
        self._step_seconds = step_seconds
        self._words = words
        self._step = 0
        self._answers: dict[str, _Answer] = {}
        self._finished: Counter[str] = Counter()
        self._tokens = 0
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start with the next step of the schedule."""
        self._step = steps_until(clock(), self._step_seconds)
        self._task = asyncio.create_task(self._run(), name="replay")

    async def stop(self, drain_seconds: float) -> None:
        """Stop. Answers may end within `drain_seconds`, and are aborted after that."""
        self._stopping = True
        assert self._task is not None
        await asyncio.wait([self._task], timeout=drain_seconds)
        for request_id in list(self._answers):
            self.abort(request_id)
        await self._task

    async def generate(self, request: GenerateRequest) -> list[RequestStream]:
        """Start the answers to a request, all with the same text.

        Raise the errors of the real engine for an invalid request.
        """
        if self._stopping:
            raise NotReadyError("the engine is stopping")
        first = self._processor.process(f"{request.request_id}-{self._tokens}", request)
        forks = (
            self._processor.fork(first, f"{first.request_id}-{choice}", choice)
            for choice in range(1, request.num_answers)
        )
        return [self._begin(each) for each in (first, *forks)]

    def _begin(self, request: Request) -> RequestStream:
        stream = RequestStream(request.request_id, request.sampling, self.abort)
        most = request.sampling.max_tokens
        assert most is not None
        own_end = len(self._words) or ANSWER_TOKENS
        ends_itself = not request.sampling.ignore_eos and most > own_end
        answer = _Answer(
            request,
            stream,
            self._step,
            own_end if ends_itself else most,
            "stop" if ends_itself else "length",
            len(request.output_token_ids),
        )
        self._answers[request.request_id] = answer
        self._say(answer, f" {self._step}")
        return stream

    def abort(self, request_id: str) -> None:
        """Abort a request, if it has not ended."""
        answer = self._answers.get(request_id)
        if answer is not None:
            self._end(answer, "", (), "abort")

    def tenant_salt(self, tenant: str) -> bytes:
        """Return the tenant's salt, derived from this engine's fixed secret."""
        return self._processor.salts.salt(tenant)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""
        return [name for name, answer in self._answers.items() if answer.request.tenant == tenant]

    async def delete_tenant(self, tenant: str) -> None:
        """Abort the tenant's requests."""
        for name in self.requests_of(tenant):
            self.abort(name)

    def deletions_of(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._processor.salts.generation(tenant)

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Take over a number of deletions of the tenant."""
        self._processor.salts.adopt(tenant, deletions)

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str = "local") -> list[BlockKey]:
        """Return no keys: there is no KV."""
        del trails, tenant
        return []

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Return True: there is no KV."""
        del keys, again
        return True

    def drain_replica(self, index: int) -> None:
        """Raise NotFoundError."""
        raise NotFoundError(f"There is no replica {index}", code="replica_not_found")

    def stats(self) -> EngineStats:
        """Return statistics, most of which are zero."""
        return replace(
            no_stats(),
            running=len(self._answers),
            requests_finished=dict(self._finished),
            generation_tokens=self._tokens,
        )

    async def _run(self) -> None:
        while not (self._stopping and not self._answers):
            due = (self._step + 1) * self._step_seconds
            await asyncio.sleep(max(0.0, due - clock()))
            # If the server was busy for longer than a step, all tokens that are due come at once.
            while self._step < steps_until(clock(), self._step_seconds):
                self._step += 1
                text = f" {self._step}"
                for answer in list(self._answers.values()):
                    self._say(answer, text)

    def _say(self, answer: _Answer, text: str) -> None:
        """Emit one token. `text` is used if the engine has no words."""
        if self._words:
            text = self._words[answer.said % len(self._words)]
        answer.said += 1
        self._tokens += 1
        stops = answer.request.sampling.stop
        stop = next((stop for stop in stops if stop in text), None) if stops else None
        if stop is not None:
            self._end(answer, "", (SAID,), "stop", stop)
        elif answer.said >= answer.length:
            self._end(answer, text, (SAID,), answer.reason)
        else:
            answer.stream.put(RequestOutput(answer.request.request_id, text, (SAID,)))

    def _end(
        self, answer: _Answer, text: str, ids: tuple[int, ...], reason: FinishReason, stop: str | None = None
    ) -> None:
        request = answer.request
        del self._answers[request.request_id]
        self._finished[reason] += 1
        prompt = request.num_prompt_tokens
        total = (clock() - request.arrival) * 1e3
        usage = Usage(prompt, answer.said, KVReceipt(computed=prompt), 0.0, 0.0, total)
        embedding = EMBEDDING if request.sampling.pooling is not None else None
        answer.stream.put(
            RequestOutput(request.request_id, text, ids, reason, usage, stop_string=stop, embedding=embedding)
        )
