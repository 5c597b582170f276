"""Compressed bodies of requests whose clients leave."""

import gzip
import os
import zlib
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from app.http.client_presence import EXTENSION
from app.http.error_responses import BodyTooLargeError
from app.http.request_body import BLOCK_BYTES, MAX_MEMBERS, STEP_BYTES, Inflation, read_bytes
from app.tenants.tenant_threads import TenantThreads
from engine.api.errors import InvalidRequestError

LIMIT = 64 << 20


class Presence:
    """A client that leaves after a number of looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def has_left(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def request_with(body: bytes, presence: Presence, threads: TenantThreads) -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-encoding", b"gzip"), (b"content-length", str(len(body)).encode())]
    app = SimpleNamespace(state=SimpleNamespace(tenant_threads=threads))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "app": app}
    scope |= {"state": {"principal": None}, "extensions": {EXTENSION: presence}}
    return Request(scope, receive)


async def test_decompression_ends_when_its_client_leaves() -> None:
    threads, steps = TenantThreads(), 8
    body = gzip.compress(bytes(steps * STEP_BYTES))
    assert len(body) < BLOCK_BYTES
    stays, leaves = Presence(1_000), Presence(3)
    assert len(await read_bytes(request_with(body, stays, threads), LIMIT)) == steps * STEP_BYTES
    assert 1_000 - stays.looks >= steps
    with pytest.raises(ClientDisconnect):
        await read_bytes(request_with(body, leaves, threads), LIMIT)
    assert leaves.looks == -1
    threads.close()


INFLATED_LIMIT = 8 << 20


def inflated(body: bytes, limit: int = INFLATED_LIMIT) -> bytes:
    inflation = Inflation(body, limit)
    while not inflation.is_done:
        inflation.step()
    return inflation.whole()


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a",
        b"\0" * INFLATED_LIMIT,
        os.urandom(3 * BLOCK_BYTES),
        b"\0" * STEP_BYTES,
        os.urandom(100) * (STEP_BYTES // 50),
    ],
    ids=["empty", "letter", "bomb", "noise", "step", "repeats"],
)
def test_body_in_steps_equals_what_was_compressed(compress: type[bytes], text: bytes) -> None:
    assert inflated(compress(text)) == text


def test_members_are_joined_up_to_their_bound() -> None:
    text = os.urandom(BLOCK_BYTES // 3)
    member = gzip.compress(text)
    assert inflated(member * MAX_MEMBERS) == text * MAX_MEMBERS
    with pytest.raises(InvalidRequestError, match="more than 16 members"):
        inflated(member * (MAX_MEMBERS + 1))


@pytest.mark.parametrize("cut", [1, 4, 9, 1_000])
def test_incomplete_body_is_refused(cut: int) -> None:
    with pytest.raises(InvalidRequestError, match="incomplete"):
        inflated(gzip.compress(os.urandom(BLOCK_BYTES))[:-cut])


def test_body_of_another_encoding_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="does not match"):
        inflated(b'{"model": "any"}')


def test_body_above_limit_is_refused() -> None:
    body = gzip.compress(b"\0" * INFLATED_LIMIT)
    assert len(inflated(body, INFLATED_LIMIT)) == INFLATED_LIMIT
    with pytest.raises(BodyTooLargeError):
        inflated(body, INFLATED_LIMIT - 1)
