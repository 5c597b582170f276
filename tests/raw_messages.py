"""Generator of what a client may send on a connection, and h11's reading of it as a second opinion."""

from dataclasses import dataclass
from itertools import pairwise

import h11
from hypothesis import strategies as st

INNER = b"GET /inner HTTP/1.1\r\nHost: localhost\r\nRemote-User: root\r\nRemote-Groups: ops\r\nX-Made-By: root\r\n\r\n"
"""Body that is a request, and must never be run as one."""

END = b"GET /end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
"""Last request of each connection."""

TRAILERS = (
    b"Remote-User: root",
    b"Remote-Groups: ops",
    b"Authorization: Bearer sk-ebb-none",
    b"X-Api-Key: sk-ebb-none",
    b"Cookie: ebb_session=none",
    b"Host: evil.example",
    b"Origin: https://evil.example",
    b"Sec-Fetch-Site: cross-site",
    b"Sec-Fetch-Mode: navigate",
    b"Forwarded: for=203.0.113.1",
    b"Via: 1.1 proxy",
    b"X-Real-IP: 203.0.113.1",
    b"X-Forwarded-For: 203.0.113.1",
    b"X-Forwarded-Host: evil.example",
    b"X-Forwarded-Proto: https",
    b"Content-Encoding: gzip",
    b"Content-Type: text/plain",
    b"Accept: text/html",
    b"Expect: 100-continue",
    b"Upgrade: h2c\r\nConnection: Upgrade",
)
"""Trailers with every name that decides who sent a request, from where, to which host, and in which form."""

OFFERS = (b"h2c", b"websocket", b"h2c\r\nHTTP2-Settings: AAMAAABk", b"foo/2, bar")
"""Values of `Upgrade`, some with a header that belongs to them."""


@dataclass(frozen=True)
class Told:
    """A complete request."""

    method: bytes
    target: bytes
    body: bytes


def read_by_h11(data: bytes) -> list[Told]:
    """Return the complete requests in `data`, up to the first error or the end of the connection."""
    told = list[Told]()
    connection = _connection(data)
    while True:
        try:
            request, body = connection.next_event(), b""
            if not isinstance(request, h11.Request):
                return told
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if not isinstance(event, h11.Data):
                    return told
                body += event.data
        except h11.RemoteProtocolError as error:
            if str(error) != "no request line received":
                return told
            # Empty lines before a request are ignored (RFC 9112, section 2.2).
            connection = _connection(connection.trailing_data[0])
            continue
        told.append(Told(request.method, request.target.removeprefix(b"http://localhost"), body))
        connection.send(h11.Response(status_code=400, headers=[("Content-Length", "0")]))
        connection.send(h11.EndOfMessage())
        if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
            return told
        connection.start_next_cycle()


def _connection(data: bytes) -> h11.Connection:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    connection.receive_data(data)
    return connection


def _mostly(usual: tuple[bytes, ...], odd: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    # Nine in ten, so that most connections have several requests.
    return st.sampled_from((*usual, *usual * (9 * len(odd) // len(usual)), *odd))


METHODS = _mostly((b"GET", b"POST"), (b"HEAD", b"PUT", b"OPTIONS", b"DELETE", b"CONNECT", b"PRI", b"get", b"G T"))
TARGETS = _mostly((b"/", b"/a?b=c"), (b"*", b"http://localhost/", b"localhost:443", b"/\xff", b"", b"/a b"))
VERSIONS = _mostly((b"HTTP/1.1",), (b"HTTP/1.0", b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/1.1 ", b"http/1.1"))
HOSTS = _mostly(
    (b"Host: localhost\r\n", b"host:[::1]:80\r\n"),
    (
        b"",
        b"Host:\r\n",
        b"Host: a\r\nHost: a\r\n",
        b"Host: a\r\nHOST: b\r\n",
        b"Host: localhost/evil\r\n",
        b"Host: a b\r\n",
        b"Host: a@b\r\n",
        b"Host: a,b\r\n",
    ),
)
EXTRAS = _mostly(
    (
        b"",
        b"",
        b"",
        b"Connection: keep-alive\r\n",
        b"Proxy-Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b"TE: trailers\r\nTrailer: X-A\r\n",
        b"X-A: \xc3\xa9\r\n",
        b"X-A: " + b"b" * 5000 + b"\r\n",
        *(b"Connection: Upgrade\r\nUpgrade: " + offer + b"\r\n" for offer in OFFERS),
        b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\nUpgrade: h2c\r\n",
        b"Upgrade: websocket\r\n",
    ),
    (
        b"Connection: close\r\n",
        b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n",
        b"X-A: b\r\n folded\r\n",
        b"X-A: b\n",
        b"X-A: b\rX-B: c\r\n",
        b"X-A: \x00\r\n",
        b"X-A : b\r\n",
        b": b\r\n",
        b"X-A\r\n",
    ),
)
PAYLOADS = st.one_of(st.just(b""), st.just(INNER), st.just(END), st.binary(max_size=40), st.just(b"x" * 3000))
LENGTHS = _mostly(
    (b"Content-Length: %d\r\n",),
    (
        b"",
        b"Content-Length: %d\r\nContent-Length: %d\r\n",
        b"Content-Length: %d, %d\r\n",
        b"Content-Length: %d\r\nContent-Length: 1\r\n",
        b"Content-Length: +%d\r\n",
        b"Content-Length: 0%d\r\n",
        b"Content-Length: 0x%d\r\n",
        b"Content-Length: -%d\r\n",
        b"Content-Length: %d \r\n",
        b"Content-Length: \t%d\r\n",
        b"Content-Length: %d;\r\n",
        b"Content-Length: 1%d\r\n",
        b"Content-Length:\r\n",
        b"Content-Length: 99999999999999999999%d\r\n",
        b"Content-Length : %d\r\n",
        b"Content-Length: %d\n",
    ),
)
CODINGS = _mostly(
    (b"Transfer-Encoding: chunked\r\n", b"transfer-encoding:Chunked\r\n"),
    (
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: identity, chunked\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: chunked, chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked, gzip\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: chunked;q=1\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n",
        b"Transfer-Encoding:\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: ,chunked\r\n",
        b"Transfer-Encoding:\r\n chunked\r\n",
    ),
)
EXTENSIONS = _mostly((b"",), (b";a=b", b';a="b;c"', b";", b" ;a", b" ", b";a\n", b";\r", b"\t", b"x"))
CHUNK_ENDS = _mostly((b"\r\n",), (b"\n", b"", b"\r", b"xx", b"\r\n\r\n"))
ZEROS = _mostly((b"0",), (b"00", b"0000000000000000000", b"", b"0x0", b"-0", b"0 "))
FRAMING_TRAILERS = (b"Content-Length: 100", b"Transfer-Encoding: chunked")
LAST_LINES = _mostly(
    (b"\r\n",),
    (b"\n", b"", b"\r\r\n", b"x\r\n\r\n", *(each + b"\r\n\r\n" for each in (*TRAILERS, *FRAMING_TRAILERS))),
)


@st.composite
def _chunked(draw: st.DrawFn) -> bytes:
    body = b""
    for payload in draw(st.lists(PAYLOADS.filter(len), max_size=3)):
        size = draw(_mostly((b"%x", b"%X"), (b"0%x", b"+%x", b"0x%x", b" %x", b"%xg", b"1%x"))) % len(payload)
        body += size + draw(EXTENSIONS) + b"\r\n" + payload + draw(CHUNK_ENDS)
    return body + draw(ZEROS) + draw(EXTENSIONS) + b"\r\n" + draw(LAST_LINES)


@st.composite
def _message(draw: st.DrawFn) -> bytes:
    head = b"%b %b %b\r\n" % (draw(METHODS), draw(TARGETS), draw(VERSIONS))
    headers = [draw(HOSTS), draw(EXTRAS), draw(EXTRAS)]
    match draw(st.sampled_from(("none", "length", "chunked"))):
        case "length":
            body = draw(PAYLOADS)
            length = draw(LENGTHS)
            headers.append(length.replace(b"%d", b"%d" % len(body)))
        case "chunked":
            body = draw(_chunked())
            headers.append(draw(CODINGS))
        case _:
            body = b""
    return head + b"".join(draw(st.permutations(headers))) + b"\r\n" + body


@st.composite
def connections(draw: st.DrawFn) -> list[bytes]:
    """Draw what a client sends on one connection, as packets that are not empty. The last request is `END`."""
    messages = draw(st.lists(_message(), min_size=1, max_size=4))
    between = st.sampled_from((b"", b"", b"", b"\r\n", b"\r\n\r\n"))
    data = b"".join(message + draw(between) for message in messages)
    if draw(st.integers(0, 9)) == 9:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=2)) + data[at + draw(st.integers(0, 2)) :]
    data += END
    cuts = sorted({0, len(data), *draw(st.lists(st.integers(0, len(data)), max_size=4))})
    return [data[begin:end] for begin, end in pairwise(cuts)]
