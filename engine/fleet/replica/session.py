"""One gateway's connection to a replica, and the streams that the gateway has begun there."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol

from cache_tiers.tier import TierId
from engine.api.errors import FOR_THE_PROCESS, EbbError, EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.promise import PromiseReport
from engine.api.request_stream import RequestStream
from engine.api.stored_tokens import AnsweredText
from engine.fleet.replica.live_hints import LiveHints
from engine.fleet.replica.reporter import Reading
from engine.fleet.wire.connection import MAX_FRAME, FrameConnection
from engine.fleet.wire.handshake import check, gateway_proof, new_nonce, replica_proof
from engine.fleet.wire.messages import (
    Abort,
    Accepted,
    AdapterCall,
    AdoptDeletion,
    AdoptDeletions,
    Answer,
    Begun,
    Challenge,
    Drain,
    End,
    Erase,
    Farewell,
    Generate,
    Hello,
    Here,
    Keep,
    Leave,
    LoadAdapter,
    Output,
    Placed,
    Places,
    PrefixCall,
    Recall,
    Release,
    Step,
    UnloadAdapter,
    Up,
    Warm,
    Welcome,
    decode_down,
    encode,
)
from engine.fleet.wire.refusals import refusal_of
from engine.fleet.wire.report import NO_TIPS, ReplicaWork, Report, Tips
from engine.loop.async_llm import AsyncLLMEngine

DEFECT: Final = "The replica failed unexpectedly; see the server's log."

logger = logging.getLogger(__name__)


class SessionOwner(Protocol):
    """Owner of the sessions of a replica."""

    @property
    def engine(self) -> AsyncLLMEngine:
        """The engine, which serves. No proven gateway calls it before."""

    def exit_if_broken(self) -> None:
        """End the process if the engine has failed."""

    def on_opened(self, session: "GatewaySession") -> None:
        """Keep the session of a peer, and close the connection if there are too many."""

    def on_proven(self, session: "GatewaySession") -> None:
        """Tell a gateway that has proved itself the state of the replica."""

    def on_drain(self, seconds: float, patience: float) -> None:
        """End the process once the tiers are flushed."""

    def on_closed(self, session: "GatewaySession") -> None:
        """Note that the connection is closed, and that its streams end."""


class GatewaySession:
    """Owner of the streams that one gateway has begun. Every method belongs to the event loop's thread.

    Numbers of streams and calls, and names of hints, are the gateway's own. All of them end with the connection.

    is_proven: whether the gateway knows the token.
    has_left: whether the gateway announced that it leaves for good.
    num_silent: ticks of the owner since the last frame.
    """

    def __init__(self, number: int, token: bytes, epoch: int, owner: SessionOwner) -> None:
        """Prepare the session of the gateway that connects to `connection`.

        number: unique among the sessions of the process.
        """
        self.is_proven = False
        self.has_left = False
        self.num_silent = 0
        self._number = number
        self._token = token
        self._epoch = epoch
        self._owner = owner
        self._nonce = new_nonce()
        self._outputs: list[Output] = []
        self._positions: dict[int, int] = {}
        self._ids: dict[int, str] = {}
        self._admissions: dict[int, asyncio.Task[None]] = {}
        self._num_streams = 0
        self._hints = LiveHints[str]()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reported: tuple[int, ReplicaWork, int] | None = None
        self.connection = FrameConnection(self._on_frame, self._on_close, self._on_open)

    @property
    def num_streams(self) -> int:
        """Number of streams that have not ended."""
        return len(self._ids) + len(self._admissions)

    def send(self, message: Up) -> None:
        """Send a message to the gateway. Do nothing once the connection is closed."""
        self.connection.send(encode(message))

    def report(self, reading: Reading, gateways: int, published: Callable[[], Tips]) -> None:
        """Send what was read of the scheduler, unless the gateway knows it already.

        gateways: number of gateways that send requests.
        published: returns all tips, for a gateway that has had no report yet.
        """
        # A request that is being admitted is not in the scheduler yet.
        seen = min(self._admissions, default=self._num_streams)
        is_first = self._reported is None
        gained, lost = (published(), NO_TIPS) if is_first else (reading.gained, reading.lost)
        news = (seen, reading.work, gateways)
        if news == self._reported and not (gained.count or lost.count):
            return
        self._reported = news
        self.send(Report(self._epoch, seen, reading.work, reading.cost, gateways, gained, lost))

    def _on_open(self) -> None:
        self._owner.on_opened(self)
        self.connection.send(encode(Challenge(self._nonce)))

    def _on_close(self) -> None:
        engine = self._owner.engine if self._ids or self._hints else None
        for task in list(self._tasks):
            task.cancel()
        if engine is not None:
            for request_id in list(self._ids.values()):
                engine.abort(request_id)
            for name in self._hints.names():
                engine.prefixes.leave(name)
        self._owner.on_closed(self)

    def _on_frame(self, frame: bytes) -> None:
        self.num_silent = 0
        message = decode_down(frame)
        if isinstance(message, Hello):
            self._welcome(message)
            return
        if not self.is_proven:
            raise ValueError("the peer has not proved itself")
        match message:
            case Generate():
                self._num_streams = message.streams[-1] + 1
                task = self._begin_task(self._generate(message))
                self._admissions |= dict.fromkeys(message.streams, task)
                task.add_done_callback(lambda _: self._admitted(message.streams))
            case Warm() | Places() | Keep() | Release() | Recall() | Erase() | LoadAdapter() | UnloadAdapter():
                self._begin_task(self._answer(message))
            case Abort(number):
                self._abort(number)
            case Leave(name):
                self._hints.pop(self._hint(name))
                self._owner.engine.prefixes.leave(self._hint(name))
            case AdoptDeletion(tenant, generation):
                self._owner.engine.adopt_deletion(tenant, generation)
            case AdoptDeletions(generations):
                self._owner.engine.adopt_deletions(generations)
            case Drain(seconds, patience):
                self._owner.on_drain(seconds, patience)
            case Farewell():
                self.has_left = True
            case Here():
                pass

    def _welcome(self, hello: Hello) -> None:
        check(hello.proof, gateway_proof(self._token, self._epoch, self._nonce, hello.nonce))
        self.connection.max_frame = MAX_FRAME
        self.connection.send(encode(Welcome(replica_proof(self._token, self._epoch, self._nonce, hello.nonce))))
        self.is_proven = True
        self._owner.on_proven(self)

    def _hint(self, name: str) -> str:
        """Return the engine's name of a hint, which no other gateway uses."""
        return f"{self._number}:{name}"

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _generate(self, call: Generate) -> None:
        with self._refusing(call.call):
            streams = await self._owner.engine.generate(_request_of(call, self._placed(call.streams[0])))
            begun = [Begun(each.params, each.text_before, each.reasoning_before) for each in streams]
            # First, so that the gateway can abort them if sending fails. Outputs follow in the loop's next turn.
            for number, stream in zip(call.streams, streams, strict=True):
                self._follow(number, stream, call)
            self.send(Accepted(call.call, begun))

    @contextmanager
    def _refusing(self, call: int) -> Iterator[None]:
        """Refuse a call that fails, whatever the reason: its gateway waits for an answer."""
        try:
            yield
        except EbbError as error:
            self.send(refusal_of(call, error))
        except FOR_THE_PROCESS:
            raise
        except BaseException:
            logger.exception("a gateway's call failed; please report this defect")
            self.send(refusal_of(call, EngineError(DEFECT)))

    def _admitted(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._admissions.pop(number, None)

    def _placed(self, number: int) -> Callable[[], None]:
        return lambda: self.send(Placed(number))

    def _follow(self, number: int, stream: RequestStream, call: Generate) -> None:
        self._positions[number], self._ids[number] = len(call.produced), stream.request_id
        stream.set_listener(partial(self._take, call, number))

    def _take(self, call: Generate, number: int, output: RequestOutput) -> bool:
        """Add an output to the frame of this step, which is sent when the loop has delivered the whole step."""
        if not self._outputs:
            asyncio.get_running_loop().call_soon(self._flush)
        at = self._positions[number]
        self._positions[number] = at + len(output.token_ids)
        if output.finished:
            del self._ids[number]
            if output.finish_reason != "moved":
                del self._positions[number]
        if output.finish_reason == "moved":
            # The client has the token at once. The other replica begins once it finds the blocks.
            end = RequestOutput(
                request_id=output.request_id, text="", token_ids=(), finish_reason="moved", usage=output.usage
            )
            self._begin_task(self._hand_over(call, _on_wire(number, self._positions.pop(number), end)))
            output = replace(output, finish_reason=None, usage=None)
        self._outputs.append(_on_wire(number, at, output))
        return True

    async def _hand_over(self, call: Generate, end: Output) -> None:
        """Tell the gateway that another replica can continue an answer: its blocks are in a lower tier."""
        try:
            await self._owner.engine.prefixes.until_below((*call.prompt_token_ids, *call.produced), tenant=call.tenant)
        finally:
            # The other replica computes the blocks that it does not find.
            self.send(Step([end]))

    def _flush(self) -> None:
        self._owner.exit_if_broken()
        outputs, self._outputs = self._outputs, []
        self.send(Step(outputs))

    def _abort(self, number: int) -> None:
        # The task of a request that has just been admitted is still here, although it can no longer be cancelled.
        if (request_id := self._ids.get(number)) is not None:
            self._owner.engine.abort(request_id)
        elif (task := self._admissions.get(number)) is not None:
            task.cancel()

    async def _answer(self, call: PrefixCall | AdapterCall) -> None:
        with self._refusing(call.call):
            match call:
                case LoadAdapter(number, name):
                    adapter = await self._owner.engine.load_adapter(name, in_place=True)
                    self.send(Answer(number, adapter=adapter))
                case UnloadAdapter(number, name):
                    await self._owner.engine.unload_adapter(name)
                    self.send(Answer(number))
                case _:
                    self.send(Answer(call.call, await self._do(call)))

    async def _do(self, call: PrefixCall) -> bool | list[TierId | None] | PromiseReport:
        engine = self._owner.engine
        match call:
            case Warm(_, name, token_ids, tenant):
                self._hints.add(self._hint(name), name)
                return await engine.prefixes.warm(self._hint(name), token_ids, tenant=tenant)
            case Places(_, prefixes, tenant):
                return await engine.prefixes.places(prefixes, tenant=tenant)
            case Keep(_, token_ids, wanted, tenant, patience):
                return await engine.prefixes.promise(token_ids, wanted, tenant=tenant, patience=patience)
            case Release(_, token_ids, num_shared, tenant):
                return await engine.prefixes.release(token_ids, num_shared=num_shared, tenant=tenant)
            case Recall(_, token_ids, spans, tenant):
                await engine.prefixes.recall(AnsweredText(token_ids, spans), tenant=tenant)
                return True
            case Erase(_, keys, again):
                return await engine.erase(keys, again=again)


def _request_of(call: Generate, on_place: Callable[[], None]) -> GenerateRequest:
    return GenerateRequest(
        prompt_token_ids=call.prompt_token_ids,
        params=call.params,
        request_id=call.request_id,
        tenant=call.tenant,
        urgency=call.urgency,
        produced=call.produced,
        keep_kv=call.keep_kv,
        on_place=on_place,
        num_answers=len(call.streams),
        num_marked=call.num_marked,
        promise=call.promise,
        hands_over=call.hands_over,
        progress_every=call.progress_every,
        is_stored=call.is_stored,
        adapter=call.adapter,
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
        output.cached,
        output.progress,
    )
