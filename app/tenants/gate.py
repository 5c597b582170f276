"""Gate through which clients' requests reach the engine, under their tenant's name and within its limits.

Requests of the server itself (titles, answers that a restart interrupted) bypass the gate.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from weakref import WeakValueDictionary

from starlette.requests import Request

from app.host.backend import Backend, GenerationStream
from app.tenants.limits import LimitName, LimitReachedError, TenantLimits
from app.tenants.principal import tenant_of
from app.tenants.token_bucket import NOTHING_OWED, OwedUse, TokenBucket, Use
from app.tenants.wanted_promise import WantedPromise
from engine.api.errors import InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.promise import PromiseRequest
from engine.process.fair_places import FairPlaces

VERY_LONG_TEXT = 1 << 17
"""Characters from which tokenizing takes so long that shorter texts should not wait for it."""

BUSY_RETRY_SECONDS = 2
"""Seconds after which one of the tenant's own answers may have ended."""

Queue = Callable[[GenerateRequest], Awaitable[GenerationStream]]
"""Queues a request with one answer and returns its stream, or raises the engine's refusal."""


class TenantGate:
    """Gate of one tenant. Owns the counts of its use."""

    def __init__(
        self,
        tenant: str,
        limits_of: Callable[[str], TenantLimits],
        clock: Callable[[], float],
        long_texts: "LongTexts",
        note_use: Callable[["TenantGate"], None],
        former: OwedUse = NOTHING_OWED,
    ) -> None:
        """Make the gate.

        note_use: called with the gate whenever its use changes.
        former: use that was owed when the server stopped.
        """
        self.tenant = tenant
        self._long_texts = long_texts
        self.used = Use()
        self._used_before = Use()
        self._limits_of = limits_of
        self._note_use = note_use
        self._requests = TokenBucket(clock, former.requests)
        self._tokens = TokenBucket(clock, former.tokens)
        self._started: set[str] = set()
        self._admitting = 0

    async def generate(self, engine: Backend, request: GenerateRequest) -> list[GenerationStream]:
        """Queue a request of this tenant, and return a stream for each of its answers.

        Raise as `Backend.generate` does, and LimitReachedError before any costly work.
        """
        num_tokens, answers = len(request.prompt_token_ids), request.num_answers
        self.check(engine, num_tokens=num_tokens, answers=answers)
        # Counted before the engine is asked, because other requests of the tenant may arrive in the meantime. A request
        # that the engine refuses counts, too: refusing it has a cost.
        self._count_requests(answers)
        self._count(num_tokens)
        self._admitting += answers
        try:
            streams = await engine.generate(replace(request, tenant=self.tenant))
        except BaseException:
            self._count(-num_tokens)
            raise
        finally:
            self._admitting -= answers
        return [self._metered(stream) for stream in streams]

    @asynccontextmanager
    async def embedding(self, engine: Backend, num_tokens: int) -> AsyncGenerator[Queue, None]:
        """Hold the place of one request that embeds texts of `num_tokens` tokens together, and yield its queue.

        The texts count as one request and one generation, since the queue's user limits how many it queues at once.
        Raise LimitReachedError before any work.
        """
        self.check(engine, num_tokens=num_tokens)
        self._count_requests(1)
        self._count(num_tokens)
        self._admitting += 1

        async def queue(request: GenerateRequest) -> GenerationStream:
            [stream] = await engine.generate(replace(request, tenant=self.tenant))
            return stream

        try:
            yield queue
        finally:
            self._admitting -= 1

    def promise(self, wanted: WantedPromise | None, num_tokens: int) -> PromiseRequest | None:
        """Return what a request with a prompt of `num_tokens` asks of the engine, within the tenant's reservation."""
        reserved = self._limits_of(self.tenant).kv_reserved or 0
        return wanted.request(num_tokens, reserved) if wanted is not None else None

    def _metered(self, stream: GenerationStream) -> GenerationStream:
        self._started.add(stream.request_id)
        return MeteredStream(stream, self._count)

    @property
    def owes(self) -> bool:
        """Whether there is use that is not paid for."""
        return self._requests.debt.seconds > 0 or self._tokens.debt.seconds > 0

    def take_added(self) -> OwedUse:
        """Return the use since the last call, which the caller adds to the total of all servers."""
        return OwedUse(self._requests.take_added(), self._tokens.take_added())

    def give_back(self, added: OwedUse) -> None:
        """Take back use that could not be added to the total."""
        self._requests.give_back(added.requests)
        self._tokens.give_back(added.tokens)

    def settle(self, total: OwedUse) -> None:
        """Continue with the total of all servers."""
        self._requests.settle(total.requests)
        self._tokens.settle(total.tokens)

    def take_used(self) -> Use:
        """Return what was used since the last call."""
        added, self._used_before = self.used - self._used_before, self.used
        return added

    def live(self, engine: Backend) -> int:
        """Return the number of the tenant's requests that have not ended."""
        # The engine knows which requests have ended, for any reason.
        self._started.intersection_update(engine.requests_of(self.tenant))
        return len(self._started)

    def long_text(self, num_characters: int) -> AbstractAsyncContextManager[None]:
        """Hold the place for tokenizing a long text, in the tenant's turn. Raise OverloadedError if too many wait."""
        return self._long_texts.place(self.tenant, num_characters)

    def check(self, engine: Backend, *, num_tokens: int = 0, answers: int = 1) -> None:
        """Raise LimitReachedError if a request is over a limit. Call before any costly work is done for it."""
        limits, live = self._limits_of(self.tenant), self.live(engine) + self._admitting
        most = limits.concurrent_runs
        if most is not None and answers > max(most, 1):
            text = f"{answers} answers are too many for one request: this tenant may run {most} generations at once"
            raise InvalidRequestError(text, param="n")
        if most is not None and live + answers > most:
            text = f"Concurrency limit reached: this tenant may run {most} generations at once"
            raise _reached("concurrent_runs", text, BUSY_RETRY_SECONDS)
        most = limits.requests_per_minute
        if most is not None and (seconds := self._requests.seconds_until(answers, most)):
            raise _reached(
                "requests_per_minute",
                f"Request limit reached: this tenant may send {most} requests per minute",
                seconds,
            )
        most = limits.tokens_per_minute
        if most is not None and (seconds := self._tokens.seconds_until(num_tokens, most)):
            text = f"Token limit reached: this tenant may use {most} tokens per minute, and the prompt has {num_tokens}"
            raise _reached("tokens_per_minute", text, seconds)

    def _count_requests(self, count: int) -> None:
        self._requests.add(count, self._limits_of(self.tenant).requests_per_minute)
        self.used += Use(requests=count)
        self._note_use(self)

    def _count(self, num_tokens: int) -> None:
        self._tokens.add(num_tokens, self._limits_of(self.tenant).tokens_per_minute)
        self.used += Use(tokens=num_tokens)
        self._note_use(self)


def _reached(limit: LimitName, text: str, seconds: float) -> LimitReachedError:
    retry_after = max(1, math.ceil(seconds))
    return LimitReachedError(limit, f"{text}. Retry in {retry_after} s.", retry_after=retry_after)


class MeteredStream(AsyncIterator[RequestOutput]):
    """A stream whose tokens are counted as they are read."""

    def __init__(self, stream: GenerationStream, count: Callable[[int], None]) -> None:
        self.request_id = stream.request_id
        self.params = stream.params
        self.text_before = stream.text_before
        self.reasoning_before = stream.reasoning_before
        self._stream = stream
        self._outputs = aiter(stream)
        self._count = count

    async def __anext__(self) -> RequestOutput:
        output = await anext(self._outputs)
        self._count(len(output.token_ids))
        return output

    def set_listener(self, on_output: Callable[[RequestOutput], bool]) -> None:
        """Offer outputs to `on_output` as `GenerationStream.set_listener` does, and count those it takes."""

        def on_output_counted(output: RequestOutput) -> bool:
            is_taken = on_output(output)
            if is_taken:
                self._count(len(output.token_ids))
            return is_taken

        self._stream.set_listener(on_output_counted)


class LongTexts:
    """Places for tokenizing long texts: one very long and one long text at a time, with tenants taking turns."""

    def __init__(self) -> None:
        self._long = FairPlaces(1)
        self._very_long = FairPlaces(1)

    def place(self, tenant: str, num_characters: int) -> AbstractAsyncContextManager[None]:
        """Hold a place for a text of `num_characters`. Raise OverloadedError if too many texts of the tenant wait."""
        return (self._very_long if num_characters >= VERY_LONG_TEXT else self._long).place(tenant)


class TenantGates:
    """Owner of the gates. A gate is kept as long as its tenant owes, has use that is not stored, or is being served.

    Regular work visits only the gates with use since the last time, since there may be many thousands.
    """

    def __init__(
        self,
        limits_of: Callable[[str], TenantLimits],
        clock: Callable[[], float],
        former: Mapping[str, OwedUse] = MappingProxyType({}),
    ) -> None:
        """Make the owner of the gates.

        clock: seconds.
        former: use that tenants owed when the server stopped.
        """
        self._limits_of = limits_of
        self._clock = clock
        self._former = dict(former)
        self._long_texts = LongTexts()
        self._gates = WeakValueDictionary[str, TenantGate]()
        self._with_new_debt: dict[str, TenantGate] = {}
        self._with_new_use: dict[str, TenantGate] = {}
        self._owing: dict[str, TenantGate] = {}
        """Gates that may hold a debt."""

    def of(self, tenant: str) -> TenantGate:
        """Return the tenant's gate."""
        gate = self._gates.get(tenant)
        if gate is None:
            former = self._former.pop(tenant, NOTHING_OWED)
            gate = TenantGate(tenant, self._limits_of, self._clock, self._long_texts, self._note_use, former)
            self._gates[tenant] = gate
            if former:
                self._owing[tenant] = gate
        return gate

    def live(self, tenant: str, engine: Backend) -> int:
        """Return the number of a tenant's requests that have not ended."""
        gate = self._gates.get(tenant)
        return gate.live(engine) if gate is not None else 0

    def take_added(self) -> dict[str, OwedUse]:
        """Return the use of each tenant since the last call, without tenants that used nothing."""
        noted, self._with_new_debt = self._with_new_debt, {}
        added = {tenant: gate.take_added() for tenant, gate in noted.items()}
        for tenant, gate in noted.items():
            if not gate.owes:
                self._owing.pop(tenant, None)
        return {tenant: use for tenant, use in added.items() if use}

    def give_back(self, added: Mapping[str, OwedUse]) -> None:
        """Take back use that could not be added to the total."""
        for tenant, use in added.items():
            gate = self._with_new_debt[tenant] = self.of(tenant)
            gate.give_back(use)

    def settle(self, totals: Mapping[str, OwedUse]) -> None:
        """Continue with what each tenant owes to all servers. A tenant that is not in `totals` owes nothing."""
        owing = self._owing | {tenant: gate for tenant in totals if (gate := self._gates.get(tenant)) is not None}
        for tenant, gate in owing.items():
            gate.settle(totals.get(tenant, NOTHING_OWED))
        self._former = {tenant: owed for tenant, owed in totals.items() if tenant not in owing}
        self._owing = {t: gate for t, gate in owing.items() if t in totals or t in self._with_new_debt}

    def take_used(self) -> dict[str, Use]:
        """Return what each tenant used since the last call, without tenants that used nothing."""
        noted, self._with_new_use = self._with_new_use, {}
        used = {tenant: gate.take_used() for tenant, gate in noted.items()}
        return {tenant: use for tenant, use in used.items() if use != Use()}

    def _note_use(self, gate: TenantGate) -> None:
        for noted in (self._with_new_debt, self._with_new_use, self._owing):
            noted[gate.tenant] = gate


def gate_of(request: Request) -> TenantGate:
    """Return the gate of the tenant that sent `request`."""
    gates = request.app.state.gates
    assert isinstance(gates, TenantGates)
    return gates.of(tenant_of(request))
