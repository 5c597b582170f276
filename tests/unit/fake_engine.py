"""An engine without a model: the real interface, with answers that depend only on their length.

Tokens are bytes, two control tokens, and words. Every answer consists of the words " w0", " w1", ... When a prompt has
several answers, the second starts at " w100", the third at " w200". A test can pause the engine with `hold` and run a
number of steps with `allow`.
"""

import asyncio
import hashlib
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cache_tiers.block_key import BlockKey
from cache_tiers.histogram import Histogram
from cache_tiers.tier import TierId
from engine.config import EngineConfig
from engine.errors import NotFoundError, NotReadyError, OverloadedError, PromptTooLongError
from engine.generate_request import GenerateRequest
from engine.outputs import FinishReason, KVReceipt, RequestOutput, TokenLogprobs, Usage
from engine.sampling_params import SamplingParams
from engine.stats import EngineStats
from engine.trail import Trail
from engine.urgency import NORMAL, Urgency
from tests.unit.fake_chat_format import END, WINDOW, WORDS, FakeChatFormat, FakeTokenizer, text_of

ANSWER_WORDS = 12
FAILING = "please fail"


def fake_logprobs(token_id: int, count: int, choice: int = 0) -> TokenLogprobs:
    """Build log probabilities in which `token_id` is the most likely, followed by the next ids of the vocabulary.

    The token itself is more likely in later choices.
    """
    return TokenLogprobs(
        token_id, -0.5 / (1 + choice), tuple((token_id + place, -0.5 - place) for place in range(count))
    )


def fake_embedding(prompt: Sequence[int]) -> bytes:
    """Return the embedding of a prompt: the number of its tokens, the first one and the last one."""
    return struct.pack("<3f", len(prompt), prompt[0], prompt[-1])


@dataclass(eq=False)
class FakeStream:
    request_id: str
    params: SamplingParams
    prompt: tuple[int, ...]
    tenant: str = "local"
    urgency: Urgency = NORMAL
    keep_kv: bool = True
    produced: list[int] = field(default_factory=list)
    text: str = ""
    text_before: str = ""
    reasoning_before: str = ""
    outputs: asyncio.Queue[RequestOutput] = field(default_factory=asyncio.Queue)
    on_place: Callable[[], None] | None = None
    num_marked: int = 0
    progress_every: float | None = None

    on_output: Callable[[RequestOutput], bool] | None = None

    def put(self, output: RequestOutput) -> None:
        if self.on_output is None or not self.outputs.empty() or not self.on_output(output):
            self.outputs.put_nowait(output)

    def set_listener(self, on_output: Callable[[RequestOutput], bool]) -> None:
        self.on_output = on_output
        told = [self.outputs.get_nowait() for _ in range(self.outputs.qsize())]
        for output in told:
            self.put(output)

    async def __aiter__(self) -> AsyncIterator[RequestOutput]:
        while True:
            output = await self.outputs.get()
            yield output
            if output.finished:
                return


class FakePrefixes:
    """A recorder of prefetch hints. `places` reports `place` for every prefix."""

    def __init__(self) -> None:
        self.place: TierId | None = None
        self.warmed: dict[str, tuple[str, list[int]]] = {}
        self.asked: list[tuple[str, list[int]]] = []

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        self.warmed[name] = (tenant, list(token_ids))
        return True

    def leave(self, name: str) -> None:
        self.warmed.pop(name, None)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        self.asked += [(tenant, list(token_ids)) for token_ids in prefixes]
        return [self.place] * len(prefixes)


class FakeEngine:
    """The engine that this module describes."""

    def __init__(self, *, max_waiting: int = 64) -> None:
        self.model_name = "fake-1"
        self.kv_fingerprint = "fake"
        self.max_model_len = WINDOW
        self.config = EngineConfig(Path("fake"), "fake-1", None, b"secret", max_waiting=max_waiting)
        self.tier_notes = {"redis": "off"}
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""
        self.tokenizer = FakeTokenizer()
        self.chat_format = FakeChatFormat()
        self.sampling_defaults: dict[str, float] = {}
        self.prefixes = FakePrefixes()
        self.requests: list[FakeStream] = []
        self.erased: list[Trail] = []
        self.erased_keys: list[BlockKey] = []
        self._trails: dict[BlockKey, tuple[str, Trail]] = {}
        self.num_unerased = 0
        self.erased_of: list[str] = []
        self.deleted_tenants: list[str] = []
        self.deletions = Counter[str]()
        self.finished: Counter[str] = Counter()
        self._live: dict[str, FakeStream] = {}
        self.places: int | None = None
        self._steps: int | None = None
        self._wake = asyncio.Event()
        self._change = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def give_place(self, stream: FakeStream) -> None:
        """Admit a request to the batch, as a step does before computing."""
        if stream.on_place is not None:
            stream.on_place()
            stream.on_place = None

    def hold(self) -> None:
        """Run no step until `allow`."""
        self._steps = 0

    def allow(self, steps: int | None) -> None:
        """Run `steps` more steps; None runs without a limit."""
        self._steps = None if steps is None else (self._steps or 0) + steps
        self._wake.set()

    async def until_running(self, count: int) -> None:
        """Wait until exactly `count` requests are unfinished."""
        async with asyncio.timeout(20):
            while self.running != count:
                self._change = asyncio.Event()
                await self._change.wait()

    async def until_produced(self, stream: FakeStream, count: int) -> None:
        """Wait until a request has produced `count` tokens."""
        async with asyncio.timeout(20):
            while len(stream.produced) < count:
                self._change = asyncio.Event()
                await self._change.wait()

    @property
    def running(self) -> int:
        """Number of unfinished requests."""
        return len(self._live)

    def drain_replica(self, index: int) -> None:
        raise NotFoundError(f"There is no replica {index}", code="replica_not_found")

    @property
    def is_broken(self) -> bool:
        return self.gave_up.is_set()

    def give_up(self, reason: str) -> None:
        """Fail permanently, as the real engine would."""
        self.why_gave_up = reason
        self.gave_up.set()
        for request_id in list(self._live):
            self.abort(request_id)

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self, drain_seconds: float) -> None:
        self._stopping = True
        self._wake.set()
        assert self._task is not None
        await asyncio.wait([self._task], timeout=drain_seconds)
        for request_id in list(self._live):
            self.abort(request_id)
        self._wake.set()
        await self._task

    async def generate(self, request: GenerateRequest) -> list[FakeStream]:
        streams = [self._queue(request)]
        try:
            for choice in range(1, request.num_answers):
                streams.append(self._fork(streams[0].request_id, choice))
        except OverloadedError:
            for stream in streams:
                self.abort(stream.request_id)
            raise
        return streams

    def _queue(self, request: GenerateRequest) -> FakeStream:
        params, produced = request.params, request.produced
        if self._stopping or self.is_broken:
            raise NotReadyError("the engine is stopping" if self._stopping else "the engine has failed")
        room = WINDOW - len(request.prompt_token_ids) + (params.pooling is not None)
        if room <= 0:
            num_tokens = len(request.prompt_token_ids)
            raise PromptTooLongError("the prompt is too long", param="prompt", num_tokens=num_tokens, maximum=WINDOW)
        if len(self._live) >= self.config.max_waiting:
            raise OverloadedError("too many requests are waiting", retry_after=3)
        max_tokens = room if params.max_tokens is None else min(params.max_tokens, room)
        seed = 7 if params.seed is None else params.seed
        resolved = replace(params, max_tokens=max_tokens, seed=seed)
        stream = FakeStream(
            f"{request.request_id}-{len(self.requests)}",
            resolved,
            tuple(request.prompt_token_ids),
            request.tenant,
            request.urgency,
            request.keep_kv,
            list(produced),
        )
        stream.on_place, stream.num_marked = request.on_place, request.num_marked
        stream.progress_every = request.progress_every
        stream.text = stream.text_before = text_of([token_id for token_id in produced if token_id != END])
        self.requests.append(stream)
        self._live[stream.request_id] = stream
        self._change.set()
        self._wake.set()
        return stream

    def _fork(self, request_id: str, choice: int) -> FakeStream:
        first = self._live[request_id]
        if len(self._live) >= self.config.max_waiting:
            raise OverloadedError("too many requests are waiting", retry_after=3)
        params = replace(first.params, choice=choice)
        stream = FakeStream(f"{request_id}-{choice}", params, first.prompt, first.tenant, first.urgency, first.keep_kv)
        self.requests.append(stream)
        self._live[stream.request_id] = stream
        self._change.set()
        return stream

    def abort(self, request_id: str) -> None:
        stream = self._live.get(request_id)
        if stream is not None:
            self._finish(stream, "", (), "abort")

    def tenant_salt(self, tenant: str) -> bytes:
        return f"salt of {tenant}".encode()

    def requests_of(self, tenant: str) -> list[str]:
        return [stream.request_id for stream in self._live.values() if stream.tenant == tenant]

    def deletions_of(self, tenant: str) -> int:
        return self.deletions[tenant]

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        self.deletions[tenant] = deletions
        for request_id in self.requests_of(tenant):
            self.abort(request_id)

    async def delete_tenant(self, tenant: str) -> None:
        self.deleted_tenants.append(tenant)
        self.deletions[tenant] += 1
        for request_id in self.requests_of(tenant):
            self.abort(request_id)

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str = "local") -> list[BlockKey]:
        """Return one key for each trail."""
        keys = list[BlockKey]()
        for trail in trails:
            keys.append(BlockKey(hashlib.sha256(repr((trail, tenant)).encode()).digest()))
            self._trails[keys[-1]] = tenant, trail
        return keys

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        if self.num_unerased:
            self.num_unerased -= 1
            return False
        self.erased_keys += keys
        for key in keys:
            if key in self._trails:
                tenant, trail = self._trails[key]
                self.erased.append(trail)
                self.erased_of.append(tenant)
        self._change.set()
        return True

    async def until_erased(self, count: int) -> list[Trail]:
        """Wait until `count` trails have been erased."""
        async with asyncio.timeout(20):
            while len(self.erased) < count:
                self._change = asyncio.Event()
                await self._change.wait()
        return self.erased

    def end(self, stream: FakeStream, reason: FinishReason, error: str | None = None) -> None:
        """Finish a request as the real engine would at its deadline."""
        self._finish(stream, "", (), reason, error)

    def stats(self) -> EngineStats:
        seconds, counts = Histogram.of_seconds(), Histogram.of_counts()
        seconds.observe(0.004)
        return EngineStats(
            running=len(self._live),
            waiting=0,
            loading=0,
            following=0,
            preempted=0,
            blocks_total=100,
            blocks_used=10,
            blocks_cached=20,
            block_nbytes=1000,
            preemptions=0,
            reclaims=0,
            requests_finished=dict(self.finished),
            generation_tokens=sum(len(stream.produced) for stream in self.requests),
            reused_tokens=Counter(),
            computed_tokens=sum(len(stream.prompt) for stream in self.requests),
            unstored_blocks=0,
            checks={"clean": 3, "failed": 0},
            step_seconds=seconds,
            gap_seconds=seconds,
            batch_sizes=counts,
            ttft_seconds=seconds,
            queue_seconds={"served": seconds},
            inter_token_seconds=seconds,
            tiers=None,
            embeddings=sum(stream.params.pooling is not None for stream in self.requests),
        )

    async def _run(self) -> None:
        while not (self._stopping and not self._live):
            if not self._live or self._steps == 0:
                self._wake.clear()
                await self._wake.wait()
                continue
            if self._steps is not None:
                self._steps -= 1
            for stream in list(self._live.values())[: self.places]:
                self.give_place(stream)
                self._step(stream)
            await asyncio.sleep(0)

    def _step(self, stream: FakeStream) -> None:
        count = len(stream.produced)
        if FAILING.encode() in bytes(i for i in stream.prompt if i < 256) and (count == 3 or stream.params.pooling):
            self._finish(stream, "", (), "error", "The model failed on this request")
        elif stream.params.max_tokens == 0:
            self._finish(stream, "", (), "length")
        elif stream.params.pooling is not None:
            self._finish(stream, "", (), "stop", embedding=fake_embedding(stream.prompt))
        elif count >= ANSWER_WORDS and not stream.params.ignore_eos:
            self._finish(stream, "", (END,), "stop")
        else:
            word = 100 * stream.params.choice + count
            self._say(stream, f" w{word}", WORDS + word)

    def _say(self, stream: FakeStream, text: str, token_id: int) -> None:
        met = next((stop for stop in stream.params.stop if stop in stream.text + text), None)
        if met is not None:
            self._finish(stream, "", (token_id,), "stop", stop_string=met)
        elif len(stream.produced) + 1 == stream.params.max_tokens:
            self._finish(stream, text, (token_id,), "length")
        else:
            self._put(stream, RequestOutput(stream.request_id, text, (token_id,)))

    def _put(self, stream: FakeStream, output: RequestOutput) -> None:
        if (count := stream.params.logprobs) is not None:
            choice = stream.params.choice
            output = replace(output, logprobs=tuple(fake_logprobs(id_, count, choice) for id_ in output.token_ids))
        if (count := stream.params.prompt_logprobs) is not None and not stream.produced:
            output = replace(output, prompt_logprobs=tuple(fake_logprobs(id_, count) for id_ in stream.prompt[1:]))
        if not stream.produced:
            output = replace(output, cached=self._cached(stream))
        stream.text += output.text
        stream.produced += output.token_ids
        stream.put(output)
        self._change.set()

    def _finish(
        self,
        stream: FakeStream,
        text: str,
        ids: tuple[int, ...],
        reason: FinishReason,
        error: str | None = None,
        stop_string: str | None = None,
        embedding: bytes | None = None,
    ) -> None:
        del self._live[stream.request_id]
        self._change.set()
        self.finished[reason] += 1
        cached = self._cached(stream)
        kv = KVReceipt(Counter(device=cached), computed=len(stream.prompt) - cached)
        usage = Usage(len(stream.prompt), len(stream.produced) + len(ids), kv, 1.0, 2.0, 10.0)
        retry_after = 7 if reason == "queue_timeout" else None
        last = RequestOutput(stream.request_id, text, ids, reason, usage, error, retry_after, stop_string=stop_string)
        last.embedding = embedding
        self._put(stream, last)

    def _cached(self, stream: FakeStream) -> int:
        """Return the length in tokens of the longest prefix that the prompt shares with an earlier request."""
        earlier = self.requests[: self.requests.index(stream)]
        return max((_common(stream.prompt, (*other.prompt, *other.produced)) for other in earlier), default=0)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    pairs = zip(left, right, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
