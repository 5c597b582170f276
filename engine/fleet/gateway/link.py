"""The gateway's end of the connection to one epoch of a replica."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from engine.api.errors import EngineError, NotReadyError
from engine.api.generate_request import GenerateRequest
from engine.fleet.gateway.answer import RemoteAnswer
from engine.fleet.routing.router import Seat
from engine.fleet.wire.connection import MAX_FRAME, FrameConnection
from engine.fleet.wire.handshake import check, gateway_proof, new_nonce, replica_proof
from engine.fleet.wire.messages import (
    Abort,
    Accepted,
    Answer,
    Beat,
    Call,
    Challenge,
    Down,
    Drain,
    Draining,
    Failed,
    Generate,
    Hello,
    Here,
    LogLine,
    Note,
    Output,
    Placed,
    Ready,
    Refused,
    ReplicaFacts,
    Step,
    Up,
    Welcome,
    decode_up,
    encode,
)
from engine.fleet.wire.refusals import error_of
from engine.fleet.wire.report import Report
from engine.loop.stats import EngineStats

CLOSED: Final = "its connection closed"

logger = logging.getLogger(__name__)


class ReplicaLostError(EngineError):
    """The replica is gone. Another one can do the work."""


class LinkEvents(Protocol):
    """Owner of a link, which is notified of its states. A link becomes ready at most once and is lost at most once."""

    def on_note(self, sentence: str) -> None:
        """Report a step of the replica's startup."""

    def on_ready(self, link: "Link") -> None:
        """Take the replica into service."""

    def on_failed(self, link: "Link", sentence: str) -> None:
        """Note that the replica's engine cannot be built; the link will be lost."""

    def on_report(self, link: "Link", report: Report) -> None:
        """Pass a report of the replica on to the router."""

    def on_draining(self, link: "Link") -> None:
        """Note that another gateway drains the replica."""

    def on_lost(self, link: "Link", reason: str, answers: Sequence[RemoteAnswer]) -> None:
        """Continue `answers` elsewhere: the replica had accepted them, and they have not ended."""


class Link:
    """Owner of the answers that one epoch of a replica computes.

    Nothing that arrives after `lose` has an effect: frames of an old epoch reach no answer.

    seat: the router's view of the replica.
    facts: None until the replica is ready.
    stats: the newest statistics; None until the first ones arrive.
    is_lost: whether the replica is given up.
    is_draining: whether the replica gets no more work, while its answers move to others.
    num_silent: ticks of the owner since the last frame.
    """

    def __init__(self, index: int, epoch: int, token: bytes, events: LinkEvents) -> None:
        self.index = index
        self.epoch = epoch
        self.seat = Seat(epoch=epoch)
        self.facts: ReplicaFacts | None = None
        self.stats: EngineStats | None = None
        self.is_lost = False
        self.is_draining = False
        self.num_silent = 0
        self._token = token
        self._nonce = new_nonce()
        self._challenge: bytes | None = None
        self._is_proven = False
        self._events = events
        self._answers: dict[int, RemoteAnswer] = {}
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._begun: dict[int, Sequence[int]] = {}
        self._call_numbers = itertools.count()
        self._stream_numbers = itertools.count()
        self.connection = FrameConnection(self._on_frame, lambda: self.mark_lost(CLOSED))

    @property
    def is_ready(self) -> bool:
        """Whether the replica serves."""
        return self.facts is not None and not self.is_lost and not self.is_draining

    @property
    def num_answers(self) -> int:
        """Number of answers that the replica computes or was asked to compute."""
        return len(self._answers)

    def send(self, message: Down) -> None:
        """Send a message to the replica without waiting."""
        self.connection.send(encode(message))

    async def begin(self, request: GenerateRequest, answers: Sequence[RemoteAnswer]) -> None:
        """Have the replica queue `request`, and compute `answers`, which are its answers.

        Nothing stays queued if the call raises or is cancelled. Raise ReplicaLostError, or the replica's refusal.
        """
        if self.is_draining:
            raise ReplicaLostError(f"replica {self.index} is drained")
        numbers = [next(self._stream_numbers) for _ in answers]
        for answer, number in zip(answers, numbers, strict=True):
            if answer.assignment is not None:
                answer.assignment.stream = number
        # Registered before the replica can send outputs.
        self._answers.update(zip(numbers, answers, strict=True))
        try:
            await self.call(lambda call: self._generate(call, numbers, request))
        except BaseException:
            for number in numbers:
                self._answers.pop(number, None)
                self.send(Abort(number))
            raise

    def _generate(self, call: int, numbers: list[int], request: GenerateRequest) -> Generate:
        self._begun[call] = numbers
        return Generate(
            call,
            numbers,
            tuple(request.prompt_token_ids),
            request.params,
            request.request_id,
            request.tenant,
            request.urgency,
            tuple(request.produced),
            request.keep_kv,
            request.num_marked,
            request.promise,
            request.hands_over,
            request.progress_every,
            request.is_stored,
            request.adapter,
        )

    async def call(self, make: Callable[[int], Call]) -> Any:
        """Send the call that `make` makes of its number, and return the answer. Raise as `begin`.

        A draining replica still answers, so that an erasure reaches its blocks too.
        """
        if self.is_lost:
            raise ReplicaLostError(f"replica {self.index} is gone")
        number = next(self._call_numbers)
        answer = self._calls[number] = asyncio.get_running_loop().create_future()
        try:
            self.send(make(number))
            return await answer
        except NotReadyError as error:
            # A replica that is drained refuses what was already under way.
            raise ReplicaLostError(f"replica {self.index} is drained") from error
        finally:
            self._calls.pop(number, None)
            self._begun.pop(number, None)

    def abort(self, answer: RemoteAnswer) -> bool:
        """Ask the replica to end an answer. Return False if the replica does not compute it."""
        number = self._number_of(answer)
        if number is None:
            return False
        self.send(Abort(number))
        return True

    def mark_lost(self, reason: str) -> None:
        """Give the replica up. A second call does nothing."""
        if self.is_lost:
            return
        self.is_lost = True
        self.connection.abort()
        self._events.on_lost(self, reason, self._release(reason))

    def tick(self) -> None:
        """Count a tick of the owner, and send a sign of life."""
        self.num_silent += 1
        if self._is_proven:
            self.send(Here())

    def drain(self, seconds: float) -> None:
        """Have the replica end once it has no more answers, or after `seconds`, and flush its tiers."""
        self.is_draining = True
        self.send(Drain(seconds))

    @property
    def accepted(self) -> Sequence[RemoteAnswer]:
        """Answers that the replica computes."""
        pending = {number for numbers in self._begun.values() for number in numbers}
        return [answer for number, answer in self._answers.items() if number not in pending]

    def has(self, answer: RemoteAnswer) -> bool:
        """Return whether the replica computes an answer, or was asked to."""
        return self._number_of(answer) is not None

    def let_go(self, answer: RemoteAnswer) -> bool:
        """End an answer here, to be continued elsewhere. Return False if the replica does not compute it any more."""
        number = self._number_of(answer)
        if number is None:
            return False
        del self._answers[number]
        self.send(Abort(number))
        return True

    def _number_of(self, answer: RemoteAnswer) -> int | None:
        return next((number for number, each in self._answers.items() if each is answer), None)

    def _release(self, reason: str) -> Sequence[RemoteAnswer]:
        """Give up all calls, and all answers. Return the answers that the replica had accepted."""
        calls, self._calls = self._calls, {}
        accepted = self.accepted
        if not self.is_draining:
            for answer in set(self._answers.values()).difference(accepted):
                answer.lose_admission(self.epoch)
        self._answers.clear()
        for call in calls.values():
            if not call.done():
                call.set_exception(ReplicaLostError(f"replica {self.index} is gone: {reason}"))
        return accepted

    def _on_frame(self, frame: bytes) -> None:
        self.num_silent = 0
        message = decode_up(frame)
        if isinstance(message, Challenge):
            self._greet(message)
        elif isinstance(message, Welcome):
            self._verify(message)
        elif not self._is_proven:
            raise ValueError("the replica has not proved itself")
        elif isinstance(message, Step):
            for output in message.outputs:
                self._take(output)
        else:
            self._on_other(message)

    def _greet(self, challenge: Challenge) -> None:
        self._challenge = challenge.nonce
        self.send(Hello(self.epoch, self._nonce, gateway_proof(self._token, self.epoch, challenge.nonce, self._nonce)))

    def _verify(self, welcome: Welcome) -> None:
        if self._challenge is None:
            raise ValueError("the replica answered before it asked")
        check(welcome.proof, replica_proof(self._token, self.epoch, self._challenge, self._nonce))
        self._is_proven = True
        self.connection.max_frame = MAX_FRAME

    def _take(self, output: Output) -> None:
        answer = self._answers.get(output.stream)
        if answer is None:
            # The caller was cancelled while the replica began the stream.
            return
        answer.take(output)
        if output.end is not None:
            self._answers.pop(output.stream, None)

    def _on_other(self, message: Up) -> None:
        match message:
            case Accepted(call, streams):
                self._accept(call, [self._answers.get(number) for number in self._begun.pop(call, ())], streams)
            case Answer(call, result, adapter):
                self._settle(call, result if adapter is None else adapter)
            case Refused():
                if (waiting := self._calls.get(message.call)) is not None and not waiting.done():
                    waiting.set_exception(error_of(message))
            case Placed(number):
                if (answer := self._answers.get(number)) is not None:
                    answer.place()
            case Beat(stats):
                self.stats = stats or self.stats
            case Report():
                self._events.on_report(self, message)
            case Note(sentence):
                self._events.on_note(sentence)
            case LogLine(name, level, text):
                logging.getLogger(name).log(level, "replica %d: %s", self.index, text)
            case Ready(facts, stats):
                self.facts, self.stats = facts, stats
                self._events.on_ready(self)
            case Draining():
                if not self.is_draining:
                    self.is_draining = True
                    self._events.on_draining(self)
            case Failed(sentence):
                self._events.on_failed(self, sentence)

    def _accept(self, call: int, answers: Sequence[RemoteAnswer | None], streams: Sequence[Any]) -> None:
        for answer, begun in zip(answers, streams, strict=False):
            if answer is not None:
                answer.accept(begun)
        self._settle(call, None)

    def _settle(self, call: int, result: object) -> None:
        if (waiting := self._calls.get(call)) is not None and not waiting.done():
            waiting.set_result(result)
