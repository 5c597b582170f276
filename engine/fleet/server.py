"""A replica's end of the connection: drives one engine for one gateway."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final

from cache_tiers.tier import TierId
from engine.async_llm import AsyncLLMEngine
from engine.errors import EbbError
from engine.fleet.connection import MAX_FRAME, Connection
from engine.fleet.handshake import check, gateway_proof, new_nonce, replica_proof
from engine.fleet.messages import (
    Abort,
    Accepted,
    AdoptDeletion,
    AdoptDeletions,
    Answer,
    Beat,
    Begun,
    Challenge,
    Drain,
    End,
    Erase,
    Failed,
    Generate,
    Hello,
    Leave,
    Output,
    Placed,
    Places,
    Ready,
    ReplicaFacts,
    Step,
    Up,
    Warm,
    Welcome,
    decode_down,
    encode,
)
from engine.fleet.refusals import refusal_of
from engine.fleet.report import REPORT_SECONDS
from engine.fleet.reporter import Reporter
from engine.generate_request import GenerateRequest
from engine.outputs import RequestOutput
from engine.request_stream import RequestStream

BEAT_SECONDS: Final = 0.25
"""Longest time without a frame from a replica that lives."""

logger = logging.getLogger(__name__)


class ReplicaServer:
    """Owner of the streams that the gateway has begun here. Every method belongs to the event loop's thread.

    The process exits when the connection closes or the engine fails: nothing in it would be of use.
    """

    def __init__(self, token: bytes, epoch: int) -> None:
        self._token = token
        self._epoch = epoch
        self._nonce = new_nonce()
        self._is_proven = False
        self._engine: AsyncLLMEngine | None = None
        self._unsent: list[Up] = []
        self._outputs: list[Output] = []
        self._positions: dict[int, int] = {}
        self._ids: dict[int, str] = {}
        self._admissions: dict[int, asyncio.Task[None]] = {}
        self._num_streams = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.connection = Connection(self._on_frame, self._on_close)

    def begin(self) -> None:
        """Challenge the gateway. The connection must be open."""
        self.connection.send(encode(Challenge(self._nonce)))
        self._beat()

    def send(self, message: Up) -> None:
        """Send a message to the gateway, once it has proved itself."""
        if self._is_proven:
            self.connection.send(encode(message))
        else:
            self._unsent.append(message)

    def serve(self, engine: AsyncLLMEngine) -> None:
        """Announce that the engine, which has been started, serves."""
        self._engine = engine
        public = engine.keys.public
        facts = ReplicaFacts(
            engine.kv_fingerprint,
            engine.max_model_len,
            dict(engine.tier_notes),
            engine.keys.namespace,
            public.token_ids if public is not None else (),
        )
        self.send(Ready(facts, engine.stats()))
        self._report(Reporter(engine, self._epoch))

    def fail(self, sentence: str) -> None:
        """Announce that there will be no engine."""
        self.send(Failed(sentence))

    def _on_close(self) -> None:
        os._exit(0)

    def _beat(self) -> None:
        self._exit_if_broken()
        if self._is_proven:
            self.send(Beat(self._engine.stats() if self._engine is not None else None))
        asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _report(self, reporter: Reporter) -> None:
        # A request that is being admitted is not in the scheduler yet.
        report = reporter.report(min(self._admissions, default=self._num_streams))
        if report is not None:
            self.send(report)
        asyncio.get_running_loop().call_later(REPORT_SECONDS, self._report, reporter)

    def _exit_if_broken(self) -> None:
        """Exit before the gateway learns of aborts that it did not ask for: its answers continue elsewhere."""
        if self._engine is not None and self._engine.is_broken:
            logger.error("the engine of this replica has failed: %s", self._engine.why_gave_up)
            os._exit(1)

    def _on_frame(self, frame: bytes) -> None:
        message = decode_down(frame)
        if isinstance(message, Hello):
            self._welcome(message)
            return
        if not self._is_proven:
            raise ValueError("the peer has not proved itself")
        match message:
            case Generate():
                self._num_streams = message.streams[-1] + 1
                task = self._begin_task(self._generate(message))
                self._admissions |= dict.fromkeys(message.streams, task)
                task.add_done_callback(lambda _: self._admitted(message.streams))
            case Warm() | Places() | Erase():
                self._begin_task(self._answer(message))
            case Abort(number):
                self._abort(number)
            case Leave(name):
                self._served().prefixes.leave(name)
            case AdoptDeletion(tenant, generation):
                self._served().adopt_deletion(tenant, generation)
            case AdoptDeletions(generations):
                self._served().adopt_deletions(generations)
            case Drain(seconds):
                self._begin_task(self._drain(seconds))

    def _welcome(self, hello: Hello) -> None:
        check(hello.proof, gateway_proof(self._token, self._epoch, self._nonce, hello.nonce))
        self.connection.max_frame = MAX_FRAME
        self.connection.send(encode(Welcome(replica_proof(self._token, self._epoch, self._nonce, hello.nonce))))
        self._is_proven = True
        unsent, self._unsent = self._unsent, []
        for message in unsent:
            self.send(message)

    def _served(self) -> AsyncLLMEngine:
        assert self._engine is not None, "the gateway calls a replica only once it is ready"
        return self._engine

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _generate(self, call: Generate) -> None:
        engine = self._served()
        try:
            streams = await engine.generate(_request_of(call, self._placed(call.streams[0])))
        except EbbError as error:
            self.send(refusal_of(call.call, error))
            return
        begun = [Begun(each.params, each.text_before, each.reasoning_before) for each in streams]
        self.send(Accepted(call.call, begun))
        for number, stream in zip(call.streams, streams, strict=True):
            self._follow(number, stream, len(call.produced))

    def _admitted(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._admissions.pop(number, None)

    def _placed(self, number: int) -> Callable[[], None]:
        return lambda: self.send(Placed(number))

    def _follow(self, number: int, stream: RequestStream, num_produced: int) -> None:
        self._positions[number], self._ids[number] = num_produced, stream.request_id
        stream.set_listener(partial(self._take, number))

    def _take(self, number: int, output: RequestOutput) -> bool:
        """Add an output to the frame of this step, which is sent when the loop has delivered the whole step."""
        if not self._outputs:
            asyncio.get_running_loop().call_soon(self._flush)
        at = self._positions[number]
        self._positions[number] = at + len(output.token_ids)
        if output.finished:
            del self._positions[number], self._ids[number]
        self._outputs.append(_on_wire(number, at, output))
        return True

    def _flush(self) -> None:
        self._exit_if_broken()
        outputs, self._outputs = self._outputs, []
        self.send(Step(outputs))

    def _abort(self, number: int) -> None:
        if (task := self._admissions.get(number)) is not None:
            task.cancel()
        elif (request_id := self._ids.get(number)) is not None:
            self._served().abort(request_id)

    async def _answer(self, call: Warm | Places | Erase) -> None:
        try:
            self.send(Answer(call.call, await self._do(call)))
        except EbbError as error:
            self.send(refusal_of(call.call, error))

    async def _do(self, call: Warm | Places | Erase) -> bool | list[TierId | None] | None:
        engine = self._served()
        match call:
            case Warm(_, name, token_ids, tenant):
                return await engine.prefixes.warm(name, token_ids, tenant=tenant)
            case Places(_, prefixes, tenant):
                return await engine.prefixes.places(prefixes, tenant=tenant)
            case Erase(_, trails, tenant):
                await engine.erase(trails, tenant=tenant)
        return None

    async def _drain(self, seconds: float) -> None:
        if self._engine is not None:
            await self._engine.stop(seconds)
        # The last outputs are sent by a callback that is already queued.
        asyncio.get_running_loop().call_soon(self.connection.close)


def _request_of(call: Generate, on_place: Callable[[], None]) -> GenerateRequest:
    return GenerateRequest(
        call.prompt_token_ids,
        call.params,
        call.request_id,
        call.tenant,
        call.urgency,
        call.produced,
        call.keep_kv,
        on_place,
        len(call.streams),
        call.may_fill_window,
        call.num_marked,
    )


def _on_wire(number: int, at: int, output: RequestOutput) -> Output:
    end = None
    if output.finish_reason is not None:
        end = End(
            output.finish_reason,
            output.usage,
            output.error,
            output.retry_after,
            output.error_path,
            output.stop_string,
        )
    return Output(
        number,
        at,
        output.token_ids,
        output.text,
        output.reasoning,
        end,
        output.logprobs,
        output.prompt_logprobs,
        output.embedding,
    )
