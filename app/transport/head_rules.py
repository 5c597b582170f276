"""Rules for the head of a request that llhttp does not check.

They keep the server and whatever is in front of it of one opinion on where the request ends, and for which host it is.
Sources: RFC 9112, sections 3.2 (Host) and 6.1 (Transfer-Encoding), and RFC 3986, section 3.2.2.
"""

import re
from collections.abc import Iterable
from typing import Final

from engine.api.errors import ClientError, EbbError

VERSIONS: Final = ("1.0", "1.1")

# The brackets are those of an IPv6 address.
_HOST = re.compile(rb"(?:\[[0-9A-Za-z:.%~_-]+\]|[0-9A-Za-z._~!$&'()*+,;=%-]*)(?::[0-9]*)?")


class NotHttpError(ClientError):
    """400: the bytes are not an HTTP request."""

    code = "invalid_http"


class UnknownCodingError(EbbError):
    """501: the body has a transfer coding other than chunked."""

    status = 501
    code = "unknown_transfer_coding"


def fault_of_head(version: str, headers: Iterable[tuple[bytes, bytes]]) -> EbbError | None:
    """Return the error to refuse a head with; None if the head is valid.

    version: "1.1" for HTTP/1.1. headers: names in lower case, and values.
    """
    if version not in VERSIONS:
        return NotHttpError(f"HTTP/{version} is not supported: use HTTP/1.1")
    hosts, codings = list[bytes](), list[bytes]()
    for name, value in headers:
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
    if codings and version == "1.0":
        return NotHttpError("Transfer-Encoding is not part of HTTP/1.0: send a Content-Length, or use HTTP/1.1")
    if codings and [each.strip().lower() for each in codings] != [b"chunked"]:
        return UnknownCodingError("The only Transfer-Encoding that this server understands is chunked, given once")
    if len(hosts) > 1:
        return NotHttpError("The request has more than one Host header")
    if not hosts and version == "1.1":
        return NotHttpError("The request has no Host header, which HTTP/1.1 requires")
    if hosts and not _HOST.fullmatch(hosts[0]):
        return NotHttpError("The Host header is not a name or an address with an optional port")
    return None
