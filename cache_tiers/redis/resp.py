"""One RESP2 connection that moves bulk values without copying them through Python.

Requests are sent with sendmsg straight from the memory of their parts. A bulk reply is received straight into the
caller's memory.
Protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/
"""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.errors import RedisProtocolError, RedisRefusedError

_READ_AHEAD = 8192

SLOWEST = 1 << 18
"""Bytes per second below which a server is considered broken."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """Error reply to one command, after which the connection is still in step."""

    text: str


Reply = int | bytes | ErrorReply | None

_Resolved = tuple[
    socket.AddressFamily,
    socket.SocketKind,
    int,
    str,
    tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
]
"""An entry of getaddrinfo: family, kind, protocol, canonical name and address."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits in seconds.

    connect: for the TCP or socket connection.
    io: for a single system call that waits for bytes, and for the name of the host.
    operation: for a whole exchange, in addition to the time of its bytes at SLOWEST. Checked between system calls.
    """

    connect: float = 0.25
    io: float = 1.0
    operation: float = 5.0


def command(*words: bytes) -> bytes:
    """Encode a request with short arguments."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class RespConnection:
    """A connection, signed in and with its database selected by the constructor.

    Every method raises OSError (including TimeoutError, ConnectionError, SSLError), RedisProtocolError or
    RedisRefusedError. After any of them the connection must be closed, because a reply may still arrive.
    Not thread-safe: one thread uses a connection, and another may only `abort` it.

    num_received: bytes received since the connection was made.
    """

    def __init__(self, address: RedisAddress, timeouts: Timeouts) -> None:
        self.num_received = 0
        self._timeouts = timeouts
        self._deadline = 0.0
        self._ahead = memoryview(bytearray(_READ_AHEAD))
        self._begin = 0
        self._end = 0
        self._socket = _connect(address, timeouts)
        # With MSG_WAITALL a block takes one system call, which needs no GIL in between. TLS has its own records.
        self._whole = 0 if isinstance(self._socket, ssl.SSLSocket) else socket.MSG_WAITALL
        try:
            _set_timeout(self._socket, timeouts.io)
            self._sign_in(address)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the socket. A second call does nothing."""
        self._socket.close()

    def abort(self) -> None:
        """Make the thread that uses this connection fail now rather than at its timeout."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def start_exchange(self, nbytes: int = 0) -> None:
        """Begin a request that moves `nbytes` bytes. The deadline counts from now."""
        self._deadline = time.monotonic() + self._timeouts.operation + nbytes / SLOWEST

    def extend_exchange(self, nbytes: int) -> None:
        """Extend the deadline for `nbytes` further bytes. Time saved on earlier bytes is not added."""
        self._deadline = min(self._deadline, time.monotonic() + self._timeouts.operation) + nbytes / SLOWEST

    def call(self, *words: bytes) -> Reply:
        """Send one small command and return its whole reply."""
        self.start_exchange()
        self.send([command(*words)])
        return self.read_reply()

    def send(self, parts: Sequence[bytes | memoryview]) -> None:
        """Send the parts one after another, without copying them."""
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
                raise TimeoutError(f"nothing could be sent within {self._timeouts.io:g} s") from None
            while views and sent >= views[0].nbytes:
                sent -= views.pop(0).nbytes
            if sent:
                views[0] = views[0][sent:]

    def await_reply(self) -> None:
        """Block until the first bytes of a reply have arrived."""
        if self._begin == self._end:
            self._fill()

    def read_reply(self) -> Reply:
        """Read a simple string, an error, a number or a bulk string. None stands for nil."""
        line = self._read_line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest
        if kind == b"-":
            return ErrorReply(rest.decode(errors="replace"))
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
        """Read the head of a bulk reply. Return its length, None for nil, or the command's error.

        After a length the caller reads exactly that many bytes with `read_into` and `skip`, then calls `end_bulk`.
        """
        line = self._read_line()
        if line[:1] == b"-":
            return ErrorReply(line[1:].decode(errors="replace"))
        if line[:1] != b"$":
            raise RedisProtocolError(f"expected a bulk string, got {line[:40]!r}")
        length = _number(line[1:])
        return None if length < 0 else length

    def read_into(self, target: memoryview) -> None:
        """Fill `target` (format 'B') from the reply."""
        done = min(self._end - self._begin, target.nbytes)
        target[:done] = self._ahead[self._begin : self._begin + done]
        self._begin += done
        while done < target.nbytes:
            done += self._receive(target[done:], self._whole)

    def skip(self, nbytes: int) -> None:
        """Read and discard `nbytes` bytes."""
        while nbytes > 0:
            if self._begin == self._end:
                self._fill()
            taken = min(nbytes, self._end - self._begin)
            self._begin += taken
            nbytes -= taken

    def end_bulk(self) -> None:
        """Read the line end after a bulk string, and buffer the beginning of the next reply if it has arrived."""
        while self._end - self._begin < 2:
            self._fill()
        if self._ahead[self._begin : self._begin + 2].tobytes() != b"\r\n":
            raise RedisProtocolError("a bulk string does not end at its stated length")
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
                raise RedisProtocolError("a reply line does not end")
        if not line.endswith(b"\r\n"):
            raise RedisProtocolError(f"a reply line has no carriage return: {bytes(line[:40])!r}")
        return bytes(line[:-2])

    def _fill(self) -> None:
        """Read ahead, after the buffered bytes that have not been consumed."""
        left = self._end - self._begin
        self._ahead[:left] = self._ahead[self._begin : self._end]
        self._begin, self._end = 0, left
        self._end += self._receive(self._ahead[left:])

    def _receive(self, target: memoryview, flags: int = 0) -> int:
        self._check_deadline()
        try:
            received = self._socket.recv_into(target, 0, flags)
        except BlockingIOError:
            raise TimeoutError(f"no bytes arrived within {self._timeouts.io:g} s") from None
        if received == 0:
            raise ConnectionResetError("the server closed the connection")
        self.num_received += received
        return received

    def _check_deadline(self) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError(f"no complete reply within {self._timeouts.operation:g} s")

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
            raise RedisRefusedError(f"{words[0].decode()}: {reply.text}")
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
    failure = OSError(f"{address.host} has no address")
    for family, kind, protocol, _, where in _resolve(address.host, address.port, timeouts.io):
        try:
            return _connect_to(where, socket.socket(family, kind, protocol), address, timeouts)
        except OSError as error:
            failure = error
    raise failure


def _connect_to(
    where: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes],
    plain: socket.socket,
    address: RedisAddress,
    timeouts: Timeouts,
) -> socket.socket:
    """Connect a new socket, with TLS if the address wants it. Close the socket if that fails.

    The socket is wrapped before it connects. If the server resets a connection that is being wrapped, the ssl module
    leaves the socket open, and nothing else can close it.
    """
    connected = plain
    if address.tls is not None:
        context = address.tls.context()
        connected = context.wrap_socket(plain, server_hostname=address.host, do_handshake_on_connect=False)
    try:
        connected.settimeout(timeouts.connect)
        connected.connect(where)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if isinstance(connected, ssl.SSLSocket):
            connected.settimeout(timeouts.io)
            connected.do_handshake()
    except BaseException:
        connected.close()
        raise
    return connected


def _resolve(host: str, port: int, seconds: float) -> Sequence[_Resolved]:
    """Return the addresses of a host. Raise TimeoutError after `seconds`, or another OSError.

    The system's resolver has no time limit that suits a stop, so a separate thread waits for it.
    """
    found: SimpleQueue[Sequence[_Resolved] | OSError] = SimpleQueue()

    def resolve() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.put(error)

    threading.Thread(target=resolve, name="redis-resolve", daemon=True).start()
    try:
        result = found.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"the name {host} was not resolved within {seconds:g} s") from None
    if isinstance(result, OSError):
        raise result
    return result


def _set_timeout(connected: socket.socket, seconds: float) -> None:
    """Set the timeout of each system call.

    A plain socket gets the kernel's timeout and stays blocking, which receiving whole blocks with MSG_WAITALL requires.
    """
    if isinstance(connected, ssl.SSLSocket):
        connected.settimeout(seconds)
        return
    connected.settimeout(None)
    interval = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, interval)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, interval)


def _number(text: bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise RedisProtocolError(f"expected a number, got {text[:40]!r}") from None
