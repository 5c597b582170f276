"""Whatever bytes a client sends, the server and h11 agree on the requests, or the server refuses and closes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from hypothesis import given, note, settings
from starlette.types import Receive, Scope, Send

from app.transport.connections import Connections
from app.transport.protocol import REFUSAL
from tests.integration.api_server import ROOMY, served
from tests.raw_messages import Told, connections, read_by_h11
from tests.sizes import Size

REFUSED = {400, 501}


class Recorder:
    """Application that reads each request to its end, and answers it without a body."""

    def __init__(self) -> None:
        self.seen = list[Told]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body, more = 200, b"", True
        if (refusal := scope["state"].get(REFUSAL)) is not None:
            status, more = refusal.status, False
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        if status == 200:
            query = scope["query_string"]
            target = scope["raw_path"] + (b"?" + query if query else b"")
            self.seen.append(Told(scope["method"].encode(), target, body))
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


@dataclass
class Answers:
    """Statuses of the responses on a connection, without interim ones, and whether the last one announces the end."""

    statuses: list[int] = field(default_factory=list)
    ends: bool = False


@dataclass(frozen=True)
class Server:
    port: int
    app: Recorder

    async def exchange(self, packets: Sequence[bytes], expected: int) -> Answers:
        """Send `packets`, read `expected` responses, and then any others until the end of the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        answers, self.app.seen = Answers(), []
        try:
            async with asyncio.timeout(20):
                for packet in packets:
                    writer.write(packet)
                    # Usually the server, on the same event loop, reads the packet in these passes.
                    for _ in range(4):
                        await asyncio.sleep(0)
                while len(answers.statuses) < expected and await _read_response(reader, answers):
                    pass
                if not writer.transport.is_closing():
                    writer.write_eof()
                while await _read_response(reader, answers):
                    pass
        except OSError:
            pass
        finally:
            writer.close()
        return answers


async def _read_response(reader: asyncio.StreamReader, answers: Answers) -> bool:
    line = await reader.readline()
    if not line:
        return False
    status, ends = int(line.split()[1]), False
    while (line := await reader.readline()).strip():
        assert not line.lower().startswith(b"content-length:") or line.strip().endswith(b" 0")
        ends = ends or line.lower().strip() == b"connection: close"
    if status >= 200:
        answers.statuses.append(status)
        answers.ends = ends
    return True


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    app = Recorder()
    async with served(app, Connections(ROOMY)) as url:
        yield Server(int(url.rpartition(":")[2]), app)


def check(seen: list[Told], told: list[Told], answers: Answers) -> None:
    """Check that each request got its response, and that the server read nothing else than h11 or refused the rest."""
    assert seen == told[: len(seen)]
    refusals = answers.statuses[len(seen) :]
    assert answers.statuses[: len(seen)] == [200] * len(seen)
    assert len(refusals) <= 1
    assert set(refusals) <= REFUSED
    if len(seen) < len(told):
        assert answers.ends


def test_server_and_h11_read_the_same_requests(size: Size) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        server = runner.run(stack.enter_async_context(serving()))

        @settings(max_examples=size.pick(small=200, full=20_000), deadline=None, database=None)
        @given(connections())
        def compare(packets: list[bytes]) -> None:
            told = read_by_h11(b"".join(packets))
            answers = runner.run(server.exchange(packets, len(told)))
            note(f"told {told}, seen {server.app.seen}, {answers}")
            check(server.app.seen, told, answers)

        try:
            compare()
        finally:
            runner.run(stack.aclose())
