"""uvicorn's HTTP protocol, with bounds on what a connection may cost.

uvicorn on httptools limits neither the size of a request's head nor the time for head and body, and never closes a
silent connection. Here every wait for a client has a deadline:

    connection -> HEAD_SECONDS -> head -> BODY_SECONDS -> body -> answer -> KEEP_ALIVE_SECONDS or the next head
                                             WRITE_SECONDS for any progress of a write, DRAIN_SECONDS for all of it
                                             DISCARD_SECONDS after the answer, for a body that no route reads
                                             LINGER_SECONDS after the last response, for a client that is still sending

Time in which the server itself does not read, because it is answering an earlier request of the connection, does not
count. The application sends the response to a refused request, so that it has headers, a request id, a log line and a
metric like any other. In the middle of an answer that is impossible, and the connection is aborted. `Connections`
bounds the number of connections.

A client may offer another protocol (`Upgrade`), and the server declines by ignoring the offer (RFC 9110, section 7.8).
llhttp instead ends such a message at its head, and would parse the body as further requests. So a new parser continues
after the head, from a head that declares the same body without the offer (`_continue_after_head`).

Responses have the order of their requests. A request that arrives while an earlier one is being answered waits, and
reading continues, so that the departure of the client is noticed. A request that cannot be read is refused in its turn.

Made for uvicorn 0.54: overrides the methods that the parser and the transport call (`app.transport.uvicorn_parts`).
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.config import Config
from uvicorn.server import ServerState

from app.domain.bounds import (
    DISCARD_SECONDS,
    DRAIN_SECONDS,
    EXIT_SECONDS,
    HEAD_SECONDS,
    LINGER_SECONDS,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_URL_BYTES,
    WRITE_SECONDS,
)
from app.http import client_presence
from app.http.error_responses import TooSlowError
from app.logs.request_log import PROBES
from app.transport.connections import Connections
from app.transport.direct_writer import EXTENSION, ChunkWriter, TransportOfAnswer
from app.transport.head_rules import NotHttpError, fault_of_head
from app.transport.refusals import REFUSAL, PipelineFullError, UrlTooLongError, headers_too_large
from app.transport.unframed import unframed
from app.transport.unsent_bytes import limit_unsent_bytes
from app.transport.uvicorn_parts import ASGI3Application, HTTPScope, RequestResponseCycle, UvicornProtocol
from engine.api.errors import EbbError

RESET_POLL_SECONDS = 0.1
"""Seconds between two checks of a half-closed connection. Such connections are few, and a check is one system call."""

PROBE_SECONDS = 5.0
"""Seconds between two probes of a half-closed connection."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""Response that may precede the final one any number of times (RFC 9110, section 15.2)."""

FRAMING_HEADERS = (b"content-length", b"transfer-encoding")
"""Headers that declare where the body of a request ends (RFC 9112, section 6)."""

TCP_CLOSE = 7
"""State of a connection that was reset, as in Linux's tcp_states.h."""

PEER = "peer"
"""Key in the scope's state: the address at the other end of the connection, which no header can change."""


class HttpProtocol(UvicornProtocol):
    """One HTTP connection with deadlines and size limits."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connections = connections
        self._receiving: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None
        self._head_begun = False
        # Headers and trailers of the request.
        self._fields = 0
        self._header_bytes = 0
        # Bytes of an element, usually a header, whose end the parser has not seen. The parser buffers them without a
        # limit.
        self._unfinished_bytes = 0
        self._events = 0
        self._fault: EbbError | None = None
        self._refused = False
        self._answering: RequestResponseCycle | None = None
        self._writer: ChunkWriter | None = None
        self._half_closed = False
        self._lingers = False
        # Whether the parser reads the head that `_continue_after_head` made, which has been reported already.
        self._repeats_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request (asyncio)."""
        super().connection_made(transport)
        limit_unsent_bytes(transport)
        self._connections.on_open(self)
        self._expect(HEAD_SECONDS, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the answer in progress that its client has left (asyncio)."""
        self._expect_nothing()
        self._cancel_write_deadline()
        # uvicorn notifies only the newest request. With pipelining, another one is being answered.
        self.pipeline.clear()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self._connections.on_close(self)
        super().connection_lost(exc)
        # A cycle leads to its protocol: only the garbage collector would free them.
        self.cycle = None  # type: ignore[assignment]
        self._answering = self._writer = None

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether the connection stays open: a client that sends no more may still read its answer.

        Most clients that send no more have closed the whole connection, which TCP does not report. To find out, the
        connection is probed. TLS has no half-closed connections here: Python's `ssl` ends both directions together.
        """
        if not self._answers or self.cycle.more_body or self.scheme == "https":
            return False
        self._half_closed = True
        self._probe()
        self._look_for_reset(self.loop.time() + PROBE_SECONDS)
        return True

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and refuse elements that never end (asyncio)."""
        if self._refused or self._lingers:
            return
        events = self._events
        self._parse(data)
        if self._refused or self.transport.is_closing():
            return
        self._unfinished_bytes = self._unfinished_bytes + len(data) if events == self._events else 0
        if self._unfinished_bytes > MAX_HEADER_BYTES:
            self._refuse(headers_too_large())
        elif self._receiving is None and self._waits_for_head:
            self._expect(HEAD_SECONDS, self._head_is_late)

    def pause_writing(self) -> None:
        """Start a deadline for the client to read what was written (asyncio)."""
        super().pause_writing()
        self._expect_progress(self.loop.time() + DRAIN_SECONDS)

    def resume_writing(self) -> None:
        """Cancel the deadline of a client that has read enough (asyncio)."""
        self._cancel_write_deadline()
        super().resume_writing()

    def on_message_begin(self) -> None:
        """Reset the limits at the first byte of a request (parser)."""
        if self._repeats_head:
            return
        self._events += 1
        self._head_begun = True
        self._fields = 0
        self._header_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Add a piece of the URL (parser)."""
        if self._repeats_head:
            return
        self._events += 1
        super().on_url(url)
        if len(self.url) > MAX_URL_BYTES:
            self._fault = UrlTooLongError(f"The URL is longer than {MAX_URL_BYTES >> 10} KiB")
            raise self._fault

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, or drop a trailer (parser).

        A trailer is no header (RFC 9110, section 6.5.1): the request was judged by its head, and a proxy that replaces
        headers may leave trailers as they are. Trailers only count towards the limits.
        """
        if self._repeats_head:
            return
        self._events += 1
        self._fields += 1
        self._header_bytes += len(name) + len(value)
        if self._fields > MAX_HEADERS or self._header_bytes > MAX_HEADER_BYTES:
            self._fault = headers_too_large()
            raise self._fault
        if self._head_begun:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop waiting for the head, which is complete (parser)."""
        if self._repeats_head:
            return
        self._events += 1
        self._head_begun = False
        self._expect_nothing()
        version = self.parser.get_http_version()
        self._fault = fault_of_head(version, self.headers)
        if self._fault is None and len(self.pipeline) >= MAX_PIPELINED:
            self._fault = PipelineFullError(
                f"At most {MAX_PIPELINED} requests may wait for their turn on one connection", retry_after=1
            )
        if self._fault is not None:
            raise self._fault
        # A client of HTTP/1.0 would take the interim response for the final one.
        self.expect_100_continue = self.expect_100_continue and version == "1.1"
        super().on_headers_complete()
        if self.pipeline:
            # uvicorn stops reading, and would not notice that the client leaves.
            self.flow.resume_reading()
        if self.parser.get_method() == b"CONNECT":
            # After a refused CONNECT, client and server may disagree on what follows.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body (parser)."""
        self._events += 1
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop waiting for the request, which is complete (parser)."""
        if self.parser.should_upgrade():
            # llhttp reports the end of the head as that of the message.
            return
        self._events += 1
        self._expect_nothing()
        super().on_message_complete()
        # uvicorn leaves it set if the response was complete before the request.
        self.cycle.more_body = False
        if self.cycle is self._answering:
            # uvicorn stops reading at each large piece of a body. With the last one, nothing else would notice that the
            # client leaves.
            self.flow.resume_reading()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser rejected, by itself or because a method above raised (uvicorn)."""
        self._refuse(self._fault or NotHttpError(msg))

    def _parse(self, data: bytes) -> None:
        """Feed the parser in place of uvicorn, which drops what follows an offer of another protocol."""
        self.stop_waiting_for_request()
        rest = memoryview(data)
        try:
            while True:
                try:
                    self.parser.feed_data(rest)
                except httptools.HttpParserUpgrade as offer:
                    rest = rest[offer.args[0] :]
                    self._continue_after_head()
                else:
                    return
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _continue_after_head(self) -> None:
        """Replace the parser by one that expects the body of the request whose head was read."""
        lines = [b"POST / HTTP/%b" % self.parser.get_http_version().encode()]
        lines += [b"%b: %b" % header for header in self.headers if header[0] in FRAMING_HEADERS]
        if not self.cycle.keep_alive:
            lines.append(b"connection: close")
        self.parser = httptools.HttpRequestParser(self)
        # As uvicorn: bytes after the last request do not prevent its response.
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._repeats_head = True
        try:
            self.parser.feed_data(b"\r\n".join(lines) + b"\r\n\r\n")
        finally:
            self._repeats_head = False

    def on_turn(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Begin to answer a request, whose turn it is now (uvicorn)."""
        self._answering, self._writer = cycle, ChunkWriter(cycle)
        cycle.transport = TransportOfAnswer(self.transport, self.end)  # type: ignore[assignment]
        state = {**cycle.scope["state"], PEER: self.peer}
        refusal = self._connections.on_request(self)
        if refusal is not None and cycle.scope["path"] not in PROBES:
            state[REFUSAL] = refusal
            cycle.keep_alive = False
        if cycle.scope["http_version"] == "1.0":
            app = unframed(app, cycle)
        # The scope leads to the cycle. If the cycle held it, only the garbage collector would free them.
        # uvicorn's type of a scope allows only dicts as extensions.
        extensions = {EXTENSION: self._writer, client_presence.EXTENSION: self._writer}
        scope: HTTPScope = {**cycle.scope, "state": state, "extensions": extensions}  # type: ignore[typeddict-item]
        self.begin_answer(cycle, lambda _, receive, send: app(scope, receive, send))

    def on_response_complete(self) -> None:
        """Start the next request of the connection, wait for one, or close the connection (uvicorn)."""
        if self._lingers:
            self.server_state.total_requests += 1
        else:
            super().on_response_complete()
            if self.cycle.more_body:
                # No route has read this body. Routes that read theirs have their own limits and responses.
                self._expect(DISCARD_SECONDS, self.transport.abort)
        if not self._answers:
            self._connections.on_response(self)
            if self._half_closed:
                self.transport.close()

    def shutdown(self) -> None:
        """Close the connection, or abort it if the answer in progress does not end within EXIT_SECONDS (uvicorn).

        uvicorn alone would cancel the request later, and log an error.
        """
        super().shutdown()
        if self._answers:
            self.loop.call_later(EXIT_SECONDS, self.transport.abort)

    @property
    def peer(self) -> str | None:
        """Address of the client; None if it has none."""
        return self.client[0] if self.client is not None else None

    def end(self) -> None:
        """Close the connection after its last response, once the client can have read that.

        If bytes arrive at a closed connection, the client gets a reset, which discards what it has not read yet. So the
        client is only told that nothing follows, and what arrives is discarded. TLS has no half-closed connections
        here. The end would be late for its clients, so only those that are probably still sending are waited for.
        """
        can_tell = self.transport.can_write_eof()
        if self.transport.is_closing() or not (can_tell or self._refused or self.cycle.more_body):
            self.transport.close()
            return
        self._lingers = True
        if can_tell:
            try:
                self.transport.write_eof()
            except OSError:
                # The client closed its connection, and answered the response with a reset.
                self.transport.abort()
                return
        self.flow.resume_reading()
        self._expect(LINGER_SECONDS, self.transport.close)

    def cut(self) -> None:
        """Close the connection at once and discard unsent bytes."""
        self.transport.abort()

    @property
    def _answers(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _waits_for_head(self) -> bool:
        """Whether a head is due, even if the client has sent only empty lines, which the parser does not report."""
        return self._head_begun or (not self._answers and self.timeout_keep_alive_task is None)

    def _expect(self, seconds: float, or_else: Callable[[], None]) -> None:
        self._expect_nothing()
        self._receiving = self.loop.call_later(seconds, or_else)

    def _expect_nothing(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def _expect_progress(self, until: float) -> None:
        """Abort the connection if its client takes nothing in WRITE_SECONDS, or has not taken everything by `until`."""
        unsent = self.transport.get_write_buffer_size()
        seconds = min(WRITE_SECONDS, until - self.loop.time())

        def look() -> None:
            if self.loop.time() >= until or self.transport.get_write_buffer_size() >= unsent:
                self.transport.abort()
            else:
                self._expect_progress(until)

        self._sending = self.loop.call_later(seconds, look)

    def _probe(self) -> bool:
        """Write bytes that every client must accept: a client that has left answers them with a reset.

        Returns whether HTTP has such bytes here. Before its response, an HTTP/1.0 client may get none.
        """
        answering, writer = self._answering, self._writer
        assert answering is not None
        assert writer is not None
        if answering.response_started:
            if writer.ready and writer.filler:
                writer.write(writer.filler)
        elif answering.scope["http_version"] == "1.1":
            self.transport.write(CONTINUE)
        else:
            return False
        return True

    def _look_for_reset(self, probe_at: float) -> None:
        """Abort a half-closed connection once its client has reset it. Nothing else reads from it by then.

        probe_at: time of the next probe. A client that cannot be probed by then counts as one that has left: proxies
            that speak HTTP/1.0 close their connection when their own client leaves, and its answer may take minutes.
        """
        if self.transport.is_closing():
            return
        state = self.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
        if state[0] == TCP_CLOSE:
            self.transport.abort()
            return
        if self.loop.time() >= probe_at:
            probe_at += PROBE_SECONDS
            if not self._probe():
                self.transport.abort()
                return
        self.loop.call_later(RESET_POLL_SECONDS, self._look_for_reset, probe_at)

    def _cancel_write_deadline(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _head_is_late(self) -> None:
        if self._answers:
            self._expect(HEAD_SECONDS, self._head_is_late)
        elif self._head_begun:
            self._refuse(TooSlowError(f"The request's headers did not arrive completely within {HEAD_SECONDS:g} s"))
        else:
            # Browsers open connections in advance. Without a request there is nothing to respond to.
            self.transport.close()

    def _refuse(self, error: EbbError) -> None:
        """Respond with `error` to the request that is being read, in its turn, and read no more requests."""
        self._refused = True
        self._expect_nothing()
        has_head = self.cycle is not None and self.cycle.more_body
        if has_head and self.cycle.response_complete:
            self.end()
        elif has_head and self.cycle.response_started:
            self.transport.abort()
        elif has_head and not self.pipeline:
            # The application sees its client leave.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self.on_turn(self._refusal(error), self.app)
        elif has_head:
            self.pipeline.popleft()
            self.pipeline.appendleft((self._refusal(error), self.app))
        elif not self._answers:
            self.on_turn(self._refusal(error), self.app)
        elif self.cycle.keep_alive:
            self.pipeline.appendleft((self._refusal(error), self.app))
        # Otherwise the connection ends after the response in progress, and what follows is no request.

    def _refusal(self, error: EbbError) -> RequestResponseCycle:
        """Make `error` the last response of the connection."""
        scope: HTTPScope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            # The version is unknown, and the client may not expect interim responses.
            "http_version": "1.0",
            "method": "-",
            "scheme": self.scheme or "http",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "root_path": self.root_path,
            "headers": [],
            "client": self.client,
            "server": self.server,
            "state": {**self.app_state, REFUSAL: error},
        }
        cycle = RequestResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=False,
            on_response=self.on_response_complete,
        )
        cycle.more_body = False
        self.cycle = cycle
        return cycle
