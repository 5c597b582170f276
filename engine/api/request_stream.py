"""Stream of the outputs of one request."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable

from engine.api.errors import FOR_THE_PROCESS
from engine.api.outputs import RequestOutput, joined
from engine.api.sampling_params import SamplingParams

MAX_MERGED = 64
"""Maximum number of unread outputs merged into one."""

MAX_MERGED_LOGPROBS = 2
"""The same limit for outputs with log probabilities, which take longer to write: a token has up to twenty."""

LISTENER_FAILED = "The answer could not be delivered: the server failed while writing it. Try again."

logger = logging.getLogger(__name__)


class RequestStream(AsyncIterator[RequestOutput]):
    """Outputs of one request, for one reader or one listener.

    A slow reader gets unread outputs merged, at most MAX_MERGED at a time, so a backlog makes neither a token nor a
    frame more expensive.

    Close the stream (`aclose`, or `async with`) to abort a request that is no longer wanted.
    """

    def __init__(
        self,
        request_id: str,
        params: SamplingParams,
        abort: Callable[[str], None],
        text_before: str = "",
        reasoning_before: str = "",
        most_merged: int = MAX_MERGED,
    ) -> None:
        """Create the stream. `text_before` and `reasoning_before` decode the tokens given as the answer's beginning.

        most_merged: number of unread outputs that are merged into one.
        """
        self.request_id = request_id
        self.text_before = text_before
        self.reasoning_before = reasoning_before
        self.params = params
        self._abort = abort
        self._most_merged = most_merged
        self._pending = deque[RequestOutput]()
        self._reader: asyncio.Future[None] | None = None
        self._is_behind = False
        self._on_output: Callable[[RequestOutput], bool] | None = None
        self._ended = False
        self._has_failed = False

    def put(self, output: RequestOutput) -> None:
        """Deliver `output`. Only the engine calls this.

        An exception in the listener ends this stream with an error, and affects no other stream.
        """
        if self._has_failed:
            return
        on_output = self._on_output
        if output.finished:
            # A listener may hold the stream, and only the garbage collector would free them.
            self._on_output = None
        if not self._pending and on_output is not None:
            try:
                if on_output(output):
                    return
            except FOR_THE_PROCESS:
                raise
            except BaseException:
                self._fail()
                return
        self._pending.append(output)
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _fail(self) -> None:
        """End the stream with an error after its listener raised, and abort the request."""
        logger.exception("%s: the listener of a stream failed; the stream ends with an error", self.request_id)
        self._has_failed, self._on_output = True, None
        self._pending = deque(
            [
                RequestOutput(
                    request_id=self.request_id, text="", token_ids=(), finish_reason="error", error=LISTENER_FAILED
                )
            ]
        )
        self._wake_reader()
        self._abort(self.request_id)

    def set_listener(self, on_output: Callable[[RequestOutput], bool]) -> None:
        """Offer unread outputs to `on_output`, and from now on each output within the step that produced it.

        An output that `on_output` accepts wakes no task. A refused output is left to the reader, and no other is
        offered until it has been read. `on_output` must not block.
        """
        self._on_output = on_output
        unread, self._pending = self._pending, deque()
        while unread and not self._pending and not self._has_failed:
            self.put(self._merged(unread))
        if not self._has_failed:
            self._pending.extend(unread)
        if self._pending and self._pending[-1].finished:
            self._on_output = None

    async def __anext__(self) -> RequestOutput:
        if self._ended:
            raise StopAsyncIteration
        if not self._pending:
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        elif self._is_behind:
            # A connection that takes many frames at once must not keep the loop from other streams.
            await asyncio.sleep(0)
        output = self._merged(self._pending)
        self._is_behind = bool(self._pending)
        self._ended = output.finished
        return output

    async def aclose(self) -> None:
        """Abort the request unless it has ended."""
        self._abort(self.request_id)

    async def __aenter__(self) -> "RequestStream":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _merged(self, outputs: deque[RequestOutput]) -> RequestOutput:
        """Take the first outputs, merged into one."""
        most = min(MAX_MERGED_LOGPROBS, self._most_merged) if outputs[0].logprobs else self._most_merged
        taken = [outputs.popleft() for _ in range(min(most, len(outputs)))]
        return taken[0] if len(taken) == 1 else joined(taken)
