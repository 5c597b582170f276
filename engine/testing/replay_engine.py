"""Engine that computes nothing: the real interface and the real refusals, with the answers of a script.

Tests let it run step by step (`hold`, `allow`) and look at the requests that it received. Benchmarks give it a pace:
then the first token of an answer comes at once, and one for every answer with each step of the schedule. A step hands
over all of its tokens at one moment, as a step of a batch does. For a server this is the hardest case.
"""

import asyncio
import hashlib
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cache_tiers.histogram import Histogram
from cache_tiers.owners.block_key import BlockKey, KeyNamespace
from cache_tiers.registry import LOWER_TIERS
from cache_tiers.store import StoreStats
from engine.api.errors import NotFoundError, NotReadyError, OverloadedError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import FinishReason, KnownPrefix, KVReceipt, RequestOutput, Reuse, TokenLogprobs, Usage
from engine.api.request_stream import MAX_MERGED
from engine.api.stored_tokens import Trail
from engine.config import CacheConfig, EngineConfig, ModelConfig, SchedulerConfig
from engine.intake.prefix_keys import TenantSalts
from engine.intake.processor import ModelLimits, Processor
from engine.loop.stats import BlockStats, EngineStats, RequestStats, StepStats, TierStats, TokenStats
from engine.testing.answer import ReplayedAnswer
from engine.testing.byte_chat_format import ByteChatFormat
from engine.testing.byte_tokenizer import END, START, ByteTokenizer
from engine.testing.prefixes import RecordedPrefixes
from engine.testing.schedule import clock, steps_until
from engine.testing.script import NumberedWords, Script
from models.adapters.adapter import Adapter
from models.retrieval.folder import Retrieval

MODEL = "fake-1"
WINDOW = 4096
FAILING = "please fail"
"""Text of a prompt whose answer fails after three tokens."""

CONTINUATION = 8
"""Tokens with which a known prefix continued."""

DEADLINE_SECONDS = 20
"""Time within which a condition must hold that a test waits for."""


def replayed_logprobs(token_id: int, count: int, choice: int = 0) -> TokenLogprobs:
    """Build log probabilities in which `token_id` is the most likely, followed by the next ids of the vocabulary.

    The token itself is more likely in later choices.
    """
    return TokenLogprobs(
        token_id, -0.5 / (1 + choice), tuple((token_id + place, -0.5 - place) for place in range(count))
    )


def replayed_embedding(prompt: Sequence[int]) -> bytes:
    """Return the embedding of a prompt: the number of its tokens, the first one and the last one."""
    return struct.pack("<3f", len(prompt), prompt[0], prompt[-1])


class ReplayEngine:
    """Implementation of `app.host.backend.Backend`.

    requests: all answers since the start, oldest first; empty without a prefix cache.
    places: number of answers that a step computes; None for all.
    tiers: statistics of the tiers; None stands for no tiers.
    erased, erased_of: trails that were erased, and their tenants.
    num_unerased: number of further calls of `erase` that fail.
    deleted_tenants: tenants that were deleted.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        pace: float | None = None,
        window: int = WINDOW,
        max_waiting: int = 64,
        prefix_cache: bool = True,
        adapters: Sequence[Adapter] = (),
    ) -> None:
        """Create an engine that has not started.

        script: the answers, by default numbered words.
        pace: seconds between two tokens of an answer; None for as fast as the event loop runs.
        window: context window in tokens.
        max_waiting: number of unfinished requests above which another is refused.
        prefix_cache: False reuses nothing and forgets an answer when it ends.
        adapters: adapters that requests may name, whose answers are those of the script too.
        """
        self.script: Script = script if script is not None else NumberedWords()
        self.model_name = self.kv_fingerprint = MODEL
        self.max_model_len = window
        self.config = EngineConfig(
            model=ModelConfig(path=Path(MODEL), name=MODEL),
            cache=CacheConfig(tiers=None, secret=b"secret", prefix_cache=prefix_cache),
            scheduler=SchedulerConfig(max_waiting=max_waiting),
        )
        self.tier_notes = {kind.tier.id: "off" for kind in LOWER_TIERS}
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""
        self.sampling_defaults: dict[str, float] = {}
        self.retrieval = Retrieval()
        self.tokenizer = ByteTokenizer()
        self.chat_format = ByteChatFormat()
        self.prefixes = RecordedPrefixes(records=prefix_cache)
        self.requests: list[ReplayedAnswer] = []
        self.places: int | None = None
        self.tiers: StoreStats | None = None
        self.erased: list[Trail] = []
        self.erased_of: list[str] = []
        self.erased_keys: list[BlockKey] = []
        self.num_unerased = 0
        self.deleted_tenants: list[str] = []
        self.finished = Counter[str]()
        self._processor = _processor(self.config, self.tokenizer, window, adapters)
        self.adapters: Mapping[str, Adapter] = self._processor.adapters
        self._trails: dict[BlockKey, tuple[str, Trail]] = {}
        self._live: dict[str, ReplayedAnswer] = {}
        self._begun = self._prompt_tokens = self._answer_tokens = self._embeddings = 0
        self._pace = pace
        # Without a pace, a reader would lag behind at random.
        self._most_merged = MAX_MERGED if pace is not None else 1
        self._step = 0
        self._steps: int | None = None
        self._wake = asyncio.Event()
        self._change = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    # Controls of tests.

    def hold(self) -> None:
        """Run no step until `allow`."""
        self._steps = 0

    def allow(self, steps: int | None) -> None:
        """Run `steps` more steps; None runs without a limit."""
        if self._steps == 0:
            self._skip_steps()
        self._steps = None if steps is None else (self._steps or 0) + steps
        self._wake.set()

    async def until_running(self, count: int) -> None:
        """Wait until exactly `count` requests are unfinished."""
        await self._until(lambda: self.running == count)

    async def until_produced(self, answer: ReplayedAnswer, count: int) -> None:
        """Wait until an answer has `count` tokens."""
        await self._until(lambda: len(answer.produced) >= count)

    async def until_erased(self, count: int) -> list[Trail]:
        """Wait until `count` trails have been erased, and return them."""
        await self._until(lambda: len(self.erased) >= count)
        return self.erased

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():
                self._change = asyncio.Event()
                await self._change.wait()

    def end(self, answer: ReplayedAnswer, reason: FinishReason, error: str | None = None) -> None:
        """End a request as the real engine would at its deadline."""
        self._finish(answer, reason=reason, error=error)

    def give_up(self, reason: str) -> None:
        """Fail for good, as the real engine would."""
        self.why_gave_up = reason
        self.gave_up.set()
        self._abort_all(list(self._live))

    @property
    def running(self) -> int:
        """Number of unfinished requests."""
        return len(self._live)

    @property
    def num_answers(self) -> int:
        """Number of answers that have not ended."""
        return len(self._live)

    # The interface of an engine.

    @property
    def is_resident(self) -> bool:
        """Whether the weights are in memory."""
        return True

    @property
    def is_broken(self) -> bool:
        """Whether the engine has failed for good."""
        return self.gave_up.is_set()

    async def start(self) -> None:
        """Begin to run steps."""
        self._task = asyncio.create_task(self._run(), name="replay")

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:  # noqa: ARG002
        """Stop. Answers may end within `drain_seconds`, and are aborted after that."""
        self._stopping = True
        self._wake.set()
        assert self._task is not None
        await asyncio.wait([self._task], timeout=drain_seconds)
        self._abort_all(list(self._live))
        self._wake.set()
        await self._task

    async def generate(self, request: GenerateRequest) -> list[ReplayedAnswer]:
        """Begin the answers to a request.

        Raise the errors of the real engine for an invalid request, and OverloadedError for one too many.
        """
        if self._stopping or self.is_broken:
            raise NotReadyError("the engine is stopping" if self._stopping else "the engine has failed")
        first = self._processor.process(f"{request.request_id}-{self._begun}", _seeded(request))
        answers = list[ReplayedAnswer]()
        try:
            further = replace(request, on_place=None, num_marked=0, promise=None, progress_every=None)
            for choice in range(request.num_answers):
                asked = further if choice else request
                params = replace(first.sampling, choice=choice)
                name = f"{first.request_id}-{choice}" if choice else first.request_id
                answers.append(
                    self._begin(ReplayedAnswer(name, asked, params, self.abort, most_merged=self._most_merged))
                )
        except OverloadedError:
            self._abort_all([answer.request_id for answer in answers])
            raise
        return answers

    def _begin(self, answer: ReplayedAnswer) -> ReplayedAnswer:
        if len(self._live) >= self.config.scheduler.max_waiting:
            raise OverloadedError("too many requests are waiting", retry_after=3)
        if self.config.cache.prefix_cache:
            self.requests.append(answer)
        self._begun += 1
        self._prompt_tokens += len(answer.prompt)
        self._embeddings += answer.params.pooling is not None
        self._live[answer.request_id] = answer
        if self._pace is not None and self._steps is None:
            if len(self._live) == 1:
                self._skip_steps()
            self._run_step([answer])
        self._change.set()
        self._wake.set()
        return answer

    def abort(self, request_id: str) -> None:
        """Abort a request, if it has not ended."""
        answer = self._live.get(request_id)
        if answer is not None:
            self._finish(answer, reason="abort")

    def _abort_all(self, request_ids: Sequence[str]) -> None:
        for request_id in request_ids:
            self.abort(request_id)

    def tenant_salt(self, tenant: str) -> bytes:
        """Return the tenant's salt, derived from this engine's fixed secret."""
        return self._processor.salts.salt(tenant)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""
        return [answer.request_id for answer in self._live.values() if answer.tenant == tenant]

    def deletions_of(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._processor.salts.generation(tenant)

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Take over a number of deletions of the tenant, and abort its requests."""
        self._processor.salts.adopt(tenant, deletions)
        self._abort_all(self.requests_of(tenant))

    async def delete_tenant(self, tenant: str) -> None:
        """Record the deletion, change the tenant's salt, and abort its requests."""
        self.deleted_tenants.append(tenant)
        self._processor.salts.rotate(tenant)
        self._abort_all(self.requests_of(tenant))

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str = "local") -> list[BlockKey]:
        """Return a key for each trail; no keys without a prefix cache."""
        keys = list[BlockKey]()
        for trail in trails if self.config.cache.prefix_cache else ():
            keys.append(BlockKey(hashlib.sha256(repr((trail, tenant)).encode()).digest()))
            self._trails[keys[-1]] = tenant, trail
        return keys

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Record the erasure. Return False as long as `num_unerased` says so."""
        del again
        if self.num_unerased:
            self.num_unerased -= 1
            return False
        self.erased_keys += keys
        for tenant, trail in (self._trails[key] for key in keys if key in self._trails):
            self.erased.append(trail)
            self.erased_of.append(tenant)
        self._change.set()
        return True

    async def load_adapter(self, name: str, *, in_place: bool) -> Adapter:  # noqa: ARG002
        """Raise NotFoundError: this engine has no files."""
        raise NotFoundError(f"There is no folder of adapters for {name!r}", param="lora_name")

    async def unload_adapter(self, name: str) -> None:
        """Refuse further requests for an adapter. Raise NotFoundError."""
        if name not in self.adapters:
            raise NotFoundError(f"No adapter {name!r} is loaded", param="lora_name", code="adapter_not_found")
        self._processor.remove_adapter(name)

    def drain_replica(self, index: int) -> None:
        """Raise NotFoundError."""
        raise NotFoundError(f"There is no replica {index}", code="replica_not_found")

    def stats(self) -> EngineStats:
        """Return statistics with fixed times and sizes."""
        seconds = Histogram.of_seconds()
        seconds.observe(0.004)
        return EngineStats(
            requests=RequestStats(
                running=len(self._live),
                finished=dict(self.finished),
                embeddings=self._embeddings,
                ttft_seconds=seconds,
                queue_seconds={"served": seconds},
                inter_token_seconds=seconds,
            ),
            tokens=TokenStats(generated=self._answer_tokens, computed=self._prompt_tokens),
            steps=StepStats(seconds=seconds, gap_seconds=seconds),
            blocks=BlockStats(nbytes=1000, total=100, used=10, cached=20, checks={"clean": 3, "failed": 0}),
            tiers=TierStats(store=self.tiers),
        )

    # The steps.

    async def _run(self) -> None:
        while not (self._stopping and not self._live):
            if not self._live or self._steps == 0:
                self._wake.clear()
                await self._wake.wait()
                continue
            due = await self._until_due()
            if self._steps is not None:
                due = min(due, self._steps)
                self._steps -= due
            for _ in range(due):
                self._step += 1
                self._run_step(list(self._live.values())[: self.places])

    def _skip_steps(self) -> None:
        """Leave out the steps that fell due while nothing ran."""
        if self._pace is not None:
            self._step = steps_until(clock(), self._pace)

    async def _until_due(self) -> int:
        """Wait until a step is due. Return the number of steps that are: several if the server was busy for so long."""
        if self._pace is None:
            await asyncio.sleep(0)
            return 1
        await asyncio.sleep(max(0.0, (self._step + 1) * self._pace - clock()))
        return max(0, steps_until(clock(), self._pace) - self._step)

    def _run_step(self, answers: Sequence[ReplayedAnswer]) -> None:
        for answer in answers:
            # The reader of another answer may have aborted this one.
            if answer.request_id in self._live:
                answer.take_place()
                self._continue(answer)

    def _continue(self, answer: ReplayedAnswer) -> None:
        count, params = len(answer.produced), answer.params
        if (count == 3 or params.pooling is not None) and _shall_fail(answer):
            self._finish(answer, reason="error", error="The model failed on this request")
        elif params.pooling is not None:
            self._finish(answer, reason="stop", embedding=replayed_embedding(answer.prompt))
        elif params.max_tokens == 0:
            self._finish(answer, reason="length")
        elif (token := self.script.next(answer, self._step)) is None:
            self._finish(answer, "", (END,), reason="stop")
        else:
            self._say(answer, token.text, token.id)

    def _say(self, answer: ReplayedAnswer, text: str, token_id: int) -> None:
        stop_string = next((stop for stop in answer.params.stop if stop in answer.text + text), None)
        if stop_string is not None:
            self._finish(answer, "", (token_id,), reason="stop", stop_string=stop_string)
        elif len(answer.produced) + 1 == answer.params.max_tokens:
            self._finish(answer, text, (token_id,), reason="length")
        else:
            self._put(answer, RequestOutput(request_id=answer.request_id, text=text, token_ids=(token_id,)))

    def _put(self, answer: ReplayedAnswer, output: RequestOutput) -> None:
        if (count := answer.params.logprobs) is not None:
            choice = answer.params.choice
            output.logprobs = tuple(replayed_logprobs(id_, count, choice) for id_ in output.token_ids)
        if not answer.produced:
            output.cached = self._known(answer).num_tokens
            if (count := answer.params.prompt_logprobs) is not None:
                output.prompt_logprobs = tuple(replayed_logprobs(id_, count) for id_ in answer.prompt[1:])
        if answer.params.stop:
            answer.text += output.text
        answer.produced += output.token_ids
        self._answer_tokens += len(output.token_ids)
        answer.put(output)
        self._change.set()

    def _finish(
        self,
        answer: ReplayedAnswer,
        text: str = "",
        ids: tuple[int, ...] = (),
        *,
        reason: FinishReason,
        error: str | None = None,
        stop_string: str | None = None,
        embedding: bytes | None = None,
    ) -> None:
        del self._live[answer.request_id]
        self.finished[reason] += 1
        known = self._known(answer)
        cached = known.num_tokens
        kv = KVReceipt(reused=Counter(device=cached), computed=len(answer.prompt) - cached)
        reuse = Reuse(cached, known, None) if self.config.cache.prefix_cache else None
        usage = Usage(
            prompt_tokens=len(answer.prompt),
            completion_tokens=len(answer.produced) + len(ids),
            kv=kv,
            queue_ms=1.0,
            ttft_ms=2.0,
            total_ms=10.0,
            reuse=reuse,
        )
        retry_after = 7 if reason == "queue_timeout" else None
        last = RequestOutput(
            request_id=answer.request_id,
            text=text,
            token_ids=ids,
            finish_reason=reason,
            usage=usage,
            error=error,
            retry_after=retry_after,
            stop_string=stop_string,
            embedding=embedding,
        )
        self._put(answer, last)

    def _known(self, answer: ReplayedAnswer) -> KnownPrefix:
        """Return the longest prefix that the prompt shares with an earlier request."""
        known = KnownPrefix(0, ())
        for other in self.requests[: self.requests.index(answer)] if self.config.cache.prefix_cache else ():
            ids = (*other.prompt, *other.produced)
            if (common := _common(answer.prompt, ids)) > known.num_tokens:
                known = KnownPrefix(common, ids[common : common + CONTINUATION])
        return known


def _processor(config: EngineConfig, tokenizer: ByteTokenizer, window: int, adapters: Sequence[Adapter]) -> Processor:
    return Processor(
        ModelLimits(tokenizer.vocab_size, window, window, config.cache.block_size, ()),
        KeyNamespace(
            model_fingerprint=MODEL,
            numerics=MODEL,
            kv_dtype="bfloat16",
            block_size=config.cache.block_size,
            layout_version=1,
            tp_rank=0,
            tp_size=1,
            tenant_salt=b"",
        ),
        TenantSalts(b"secret"),
        prefix_cache=False,
        adapters=adapters,
        clock=clock,
    )


def _seeded(request: GenerateRequest) -> GenerateRequest:
    """Return the request with a fixed seed, if it has none."""
    return request if request.params.seed is not None else replace(request, params=replace(request.params, seed=7))


def _shall_fail(answer: ReplayedAnswer) -> bool:
    return FAILING.encode() in bytes(id_ for id_ in answer.prompt if id_ < START)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
