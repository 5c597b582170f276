"""Compressed bodies of requests whose clients leave."""

import gzip
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from app.http.client_presence import EXTENSION
from app.http.inflating import BLOCK_BYTES, STEP_BYTES
from app.http.request_body import read_bytes
from app.tenants.tenant_threads import TenantThreads

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
