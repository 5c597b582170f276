"""One connection that speaks RESP2 and moves bulk values without copying them through Python.

Requests go out with sendmsg from wherever their parts lie; a bulk reply is received straight into the caller's memory.
Protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/
"""

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.errors import RedisProtocolError, RedisRefusedError

_READ_AHEAD = 8192

SLOWEST = 1 << 18
"""Bytes per second below which a server counts as broken."""

# The server is up, but whatever we ask it now gets this answer.
_REFUSALS = (
    "LOADING",
    "NOAUTH",
    "WRONGPASS",
    "MASTERDOWN",
    "DENIED",
    "ERR max number of clients",
    "ERR AUTH",
    "ERR Client sent AUTH",
    "ERR DB index",
    "ERR invalid DB index",
)


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error of one command; the connection stays in step."""

    text: str


Reply = int | bytes | ErrorReply | None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds. io: the longest that one system call waits for bytes that are due. operation: the longest that one
    exchange may last, on top of what its bytes take at SLOWEST; it is looked at between system calls."""

    connect: float = 0.25
    io: float = 1.0
    operation: float = 5.0


def command(*words: bytes) -> bytes:
    """A request with short arguments."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class RespConnection:
    """Connected on construction: signed in, database chosen.

    Every method raises OSError (TimeoutError, ConnectionError, SSLError among them), RedisProtocolError or
    RedisRefusedError; after any of them the connection must be closed, for a reply may still be on its way.
    Not thread-safe: one thread uses a connection, another may only `abort` it. num_received: bytes, since it was made.
    """

    def __init__(self, address: RedisAddress, timeouts: Timeouts) -> None:
        self.num_received = 0
        self._timeouts = timeouts
        self._deadline = 0.0
        self._ahead = memoryview(bytearray(_READ_AHEAD))
        self._begin = 0
        self._end = 0
        self._socket = _connect(address, timeouts)
        # One system call for a block, during which nobody waits for the interpreter. TLS has its own records.
        self._whole = 0 if isinstance(self._socket, ssl.SSLSocket) else socket.MSG_WAITALL
        try:
            _set_timeout(self._socket, timeouts.io)
            self._sign_in(address)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the socket; harmless when done twice."""
        self._socket.close()

    def abort(self) -> None:
        """Make the thread that uses this connection fail now instead of at its timeout."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def start_exchange(self, nbytes: int = 0) -> None:
        """A new request that moves so many bytes begins: its deadline counts from now."""
        self._deadline = time.monotonic() + self._timeouts.operation + nbytes / SLOWEST

    def extend_exchange(self, nbytes: int) -> None:
        """So many bytes more are to come in it. What came faster than it had to leaves no more time to those."""
        self._deadline = min(self._deadline, time.monotonic() + self._timeouts.operation) + nbytes / SLOWEST

    def call(self, *words: bytes) -> Reply:
        """One small command and its whole reply."""
        self.start_exchange()
        self.send([command(*words)])
        return self.read_reply()

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Send the parts one after the other from where they lie."""
        if isinstance(self._socket, ssl.SSLSocket):
            for part in parts:
                self._check_deadline()
                self._socket.sendall(part)
            return
        views = [memoryview(part) for part in parts]
        while views:
            self._check_deadline()
            try:
                sent = self._socket.sendmsg(views)
            except BlockingIOError:
                raise TimeoutError(f"nothing was taken within {self._timeouts.io:g} s") from None
            while views and sent >= views[0].nbytes:
                sent -= views.pop(0).nbytes
            if sent:
                views[0] = views[0][sent:]

    def await_reply(self) -> None:
        """Block until the first bytes of a reply are here."""
        if self._begin == self._end:
            self._fill()

    def read_reply(self) -> Reply:
        """A simple string, an error, a number or a bulk string (None: nil)."""
        line = self._read_line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest
        if kind == b"-":
            return _error(rest)
        if kind == b":":
            return _number(rest)
        if kind == b"$":
            length = _number(rest)
            if length < 0:
                return None
            value = bytearray(length)
            self.read_into(memoryview(value))
            self.end_bulk()
            return bytes(value)
        raise RedisProtocolError(f"unexpected reply {line[:40]!r}")

    def read_bulk_length(self) -> int | ErrorReply | None:
        """The head of a bulk reply: its length, None for nil, or the command's error.

        After a length the caller reads exactly that many bytes with `read_into` and `skip`, then calls `end_bulk`.
        """
        line = self._read_line()
        if line[:1] == b"-":
            return _error(line[1:])
        if line[:1] != b"$":
            raise RedisProtocolError(f"expected a bulk string, got {line[:40]!r}")
        length = _number(line[1:])
        return None if length < 0 else length

    def read_into(self, target: memoryview) -> None:
        """Fill `target` (format 'B')."""
        done = min(self._end - self._begin, target.nbytes)
        target[:done] = self._ahead[self._begin : self._begin + done]
        self._begin += done
        while done < target.nbytes:
            done += self._receive(target[done:], self._whole)

    def skip(self, nbytes: int) -> None:
        """Read and forget."""
        while nbytes > 0:
            if self._begin == self._end:
                self._fill()
            taken = min(nbytes, self._end - self._begin)
            self._begin += taken
            nbytes -= taken

    def end_bulk(self) -> None:
        """Read the line end that follows a bulk string, and what the next reply begins with, if it is there."""
        while self._end - self._begin < 2:
            self._fill()
        if self._ahead[self._begin : self._begin + 2].tobytes() != b"\r\n":
            raise RedisProtocolError("a bulk string does not end where it said")
        self._begin += 2

    def _read_line(self) -> bytes:
        line = bytearray()
        while True:
            if self._begin == self._end:
                self._fill()
            waiting = self._ahead[self._begin : self._end].tobytes()
            end = waiting.find(b"\n")
            taken = len(waiting) if end < 0 else end + 1
            line += waiting[:taken]
            self._begin += taken
            if end >= 0:
                break
            if len(line) > _READ_AHEAD:
                raise RedisProtocolError("a reply line without end")
        if not line.endswith(b"\r\n"):
            raise RedisProtocolError(f"a reply line without carriage return: {bytes(line[:40])!r}")
        return bytes(line[:-2])

    def _fill(self) -> None:
        """Read ahead, behind what was read ahead and not taken yet."""
        left = self._end - self._begin
        self._ahead[:left] = self._ahead[self._begin : self._end]
        self._begin, self._end = 0, left
        self._end += self._receive(self._ahead[left:])

    def _receive(self, target: memoryview, flags: int = 0) -> int:
        self._check_deadline()
        try:
            received = self._socket.recv_into(target, 0, flags)
        except BlockingIOError:
            raise TimeoutError(f"not a byte within {self._timeouts.io:g} s") from None
        if received == 0:
            raise ConnectionResetError("the server closed the connection")
        self.num_received += received
        return received

    def _check_deadline(self) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError(f"no whole reply within {self._timeouts.operation:g} s")

    def _sign_in(self, address: RedisAddress) -> None:
        if address.password is not None:
            words = [b"AUTH", address.password.encode()]
            if address.username is not None:
                words.insert(1, address.username.encode())
            self._expect_ok(*words)
        if address.database:
            self._expect_ok(b"SELECT", b"%d" % address.database)

    def _expect_ok(self, *words: bytes) -> None:
        reply = self.call(*words)
        if isinstance(reply, ErrorReply):
            raise RedisRefusedError(reply.text)
        if reply != b"OK":
            raise RedisProtocolError(f"{words[0].decode()} got {reply!r}")


def _connect(address: RedisAddress, timeouts: Timeouts) -> socket.socket:
    if address.unix_path is not None:
        plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            plain.settimeout(timeouts.connect)
            plain.connect(str(address.unix_path))
        except BaseException:
            plain.close()
            raise
        return plain
    tcp = socket.create_connection((address.host, address.port), timeouts.connect)
    try:
        tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.tls is None:
            return tcp
        tcp.settimeout(timeouts.io)
        return address.tls.context().wrap_socket(tcp, server_hostname=address.host)
    except BaseException:
        tcp.close()
        raise


def _set_timeout(connected: socket.socket, seconds: float) -> None:
    """For each call. The kernel's own timeout leaves the socket blocking, which waiting for whole blocks needs."""
    if isinstance(connected, ssl.SSLSocket):
        connected.settimeout(seconds)
        return
    connected.settimeout(None)
    interval = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, interval)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, interval)


def _error(text: bytes) -> ErrorReply:
    """An error reply, or RedisRefusedError when every other command would get the same."""
    words = text.decode(errors="replace")
    if words.startswith(_REFUSALS):
        raise RedisRefusedError(words)
    return ErrorReply(words)


def _number(text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise RedisProtocolError(f"not a number: {text[:40]!r}") from None
