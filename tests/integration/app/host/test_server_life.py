"""Start, stop and crash of the server as a process."""

import asyncio
import json
import os
import re
import signal
import socket
import sqlite3
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import aiohttp

from app.config.settings import lock_state_dir
from app.domain.token_history import ID_BYTES
from app.routes.pages import OLLAMA_IS_RUNNING
from engine.testing.script import ANSWER_WORDS
from tests.forked_process import ForkedProcess
from tests.integration.api_server import api_client
from tests.integration.damaged import damaged_conversations, stored_conversations
from tests.integration.serve_fake import main as serve_fake
from tests.integration.sse_events import all_events, events, text_of
from tests.redis_server import free_port
from tests.tls_files import TlsFiles, make_tls_files

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


class ServerProcess:
    """Running `serve_fake` process.

    log: text that was read from the process's standard error so far.
    """

    def __init__(
        self,
        process: ForkedProcess,
        orders: BinaryIO,
        log: asyncio.StreamReader,
        transport: asyncio.ReadTransport,
        terminal: BinaryIO,
    ) -> None:
        self.process = process
        self.log = ""
        self.url = ""
        self._orders = orders
        self._log = log
        self._transport = transport
        self._terminal = terminal

    def order(self, line: str) -> None:
        self._orders.write(f"{line}\n".encode())

    async def read_log_until(self, pattern: str) -> re.Match[str]:
        async with asyncio.timeout(30):
            while not (found := re.search(pattern, self.log)):
                line = await self._log.readline()
                assert line, self.log
                self.log += line.decode()
        return found

    def press(self, key: bytes) -> None:
        """Press a key at the server's terminal."""
        self._terminal.write(key)

    def stop_reading_log(self) -> None:
        self._transport.pause_reading()

    def resume_reading_log(self) -> None:
        self._transport.resume_reading()

    async def exit_code(self) -> int:
        async with asyncio.timeout(30):
            self.log += (await self._log.read()).decode()
            return await asyncio.to_thread(self.process.wait)


Files = AbstractContextManager[tuple[BinaryIO, BinaryIO]]
"""A file to read from, and one to write to."""


@contextmanager
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a pipe without buffers: its reading end and its writing end."""
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as source, open(writing, "wb", buffering=0) as sink:
        yield source, sink


@asynccontextmanager
async def process(
    state_dir: Path,
    *,
    port: int = 0,
    drain: float = 30.0,
    ollama_port: int = 0,
    tls: TlsFiles | None = None,
    log_files: Callable[[], Files] = pipe,
) -> AsyncIterator[ServerProcess]:
    files = (str(tls.certificate), str(tls.key)) if tls is not None else ()
    given = (str(state_dir), str(port), str(drain), str(ollama_port), *files)
    with pipe() as (their_orders, orders), log_files() as (log, their_log):
        with their_orders, their_log:
            started = ForkedProcess(serve_fake, given, stdin=their_orders.fileno(), stderr=their_log.fileno())
        lines = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), log
        )
        try:
            yield ServerProcess(started, orders, lines, transport, log)
        finally:
            started.kill()
            transport.resume_reading()
            # The pipe ends once the server process below has gone, too. A terminal ends with an error.
            with suppress(OSError):
                await lines.read()
            await asyncio.to_thread(started.wait)
            transport.close()


@asynccontextmanager
async def serving(state_dir: Path, **options: Any) -> AsyncIterator[tuple[ServerProcess, aiohttp.ClientSession]]:
    async with process(state_dir, **options) as server:
        server.url = (await server.read_log_until(r"listening on (http://[\d.:]+)[ ;]"))[1]
        server.order("build")
        await server.read_log_until("ready: fake-1")
        async with api_client(server.url) as http:
            yield server, http


async def asked(server: ServerProcess, http: aiohttp.ClientSession) -> tuple[str, aiohttp.ClientResponse]:
    """Ask a question and hold the answer at its third word. Return the conversation's id and the stream."""
    server.order("hold")
    server.order("allow 3")
    await server.read_log_until("obeyed allow 3")
    conversation = await (await http.post("/api/conversations", json={})).json()
    response = await http.post(f"/api/conversations/{conversation['id']}/messages", json={"content": "hi"})
    text = ""
    async for event in events(response):
        text += event.data["text"] if event.kind == "delta" else ""
        if text == " w0 w1 w2":
            return conversation["id"], response
    raise AssertionError(text)


async def test_server_answers_while_the_engine_is_built(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        url = (await server.read_log_until(r"listening on (http://[\d.:]+)[ ;]"))[1]
        await server.read_log_until("Waiting for the order")
        async with api_client(url) as http:
            assert (await http.get("/ready")).status == 503
            body = await (await http.get("/health")).json()
            assert body["starting"] == "Waiting for the order to go on"
            server.order("build")
            assert (await server.read_log_until(r"ready: fake-1, .* Open (\S+)"))[1] == url
            assert (await http.get("/ready")).status == 200


async def test_server_process_serves_and_announces_https(tmp_path: Path) -> None:
    """Serve on the event loop of `ebb serve`, whose TLS is not the standard library's."""
    files = make_tls_files(tmp_path)
    async with process(tmp_path, tls=files) as server:
        url = (await server.read_log_until(r"listening on (https://[\d.:]+)[ ;]"))[1]
        port = int(url.rpartition(":")[2])
        mute = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(3)]
        trusted = ssl.create_default_context(cafile=files.authority)
        async with api_client(f"https://localhost:{port}", tls=trusted) as http:
            assert (await http.get("/health")).status == 200
        mute[0].transport.abort()
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0
        assert "Traceback" not in server.log
        for writer in mute:
            writer.transport.abort()


async def test_second_port_is_for_clients_of_ollama(tmp_path: Path) -> None:
    port = free_port()
    async with serving(tmp_path, ollama_port=port) as (server, http):
        assert f"clients of Ollama connect to http://127.0.0.1:{port}\n" in server.log
        async with api_client(f"http://127.0.0.1:{port}") as ollama:
            assert await (await ollama.get("/")).text() == OLLAMA_IS_RUNNING
            assert (await ollama.head("/")).status == 200
            assert await (await ollama.get("/api/tags")).json() == await (await http.get("/api/tags")).json()
            assert (await ollama.get("/health")).status == 200
        assert OLLAMA_IS_RUNNING not in await (await http.get("/")).text()
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0


async def test_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "conversations.db") as connection:
        connection.execute("PRAGMA user_version = 10000")
    connection.close()
    async with process(tmp_path) as server:
        assert await server.exit_code() == 1
        assert "later version of Ebb" in server.log
        assert "Traceback" not in server.log


async def test_damaged_database_ends_the_start_with_a_message(tmp_path: Path) -> None:
    await asyncio.to_thread(damaged_conversations, tmp_path)
    async with process(tmp_path) as server:
        assert await server.exit_code() == 1
        assert "cannot be opened" in server.log
        assert "ebb restore" in server.log
        assert "Traceback" not in server.log
    lock = lock_state_dir(tmp_path)
    assert lock is not None
    os.close(lock)


async def test_server_completes_a_killed_restore(tmp_path: Path) -> None:
    database = await asyncio.to_thread(stored_conversations, tmp_path)
    database.rename(tmp_path / ".conversations.db.restored")
    (tmp_path / ".conversations.db.restoring").write_text('{"aside": "conversations.db.before-x"}')
    (tmp_path / ".conversations.db.draft-dead").write_bytes(b"half")
    async with serving(tmp_path) as (server, http):
        assert "completed an interrupted restore" in server.log
        listed = await (await http.get("/api/conversations")).json()
        assert len(listed["data"]) == 5
    assert await asyncio.to_thread(lambda: list(tmp_path.glob(".*"))) == []


async def test_sigterm_finishes_running_answers_and_refuses_new_ones(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, http):
        _, response = await asked(server, http)
        server.process.send_signal(signal.SIGTERM)
        await server.read_log_until("SIGTERM: stopping")
        async with asyncio.timeout(20):
            while (await (await http.get("/health")).json())["status"] != "stopping":
                continue
        refused = await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x"})
        assert refused.status == 503
        assert "Retry-After" in refused.headers
        server.order("allow 100")
        assert (await all_events(response))[-1].data["message"]["content"] == WHOLE_ANSWER
        assert await server.exit_code() == 0


async def test_answer_beyond_the_drain_time_resumes_after_restart(tmp_path: Path) -> None:
    async with serving(tmp_path, drain=0.05) as (server, http):
        conversation_id, response = await asked(server, http)
        completing = await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x", "stream": True})
        server.process.send_signal(signal.SIGINT)
        assert [event.kind for event in await all_events(response)] == ["server_restart"]
        last_seen = f"{response.headers['X-Run-Id']}:0.4"
        [error] = await all_events(completing)
        assert error.data["error"]["code"] == "server_restart"
        assert await server.exit_code() == 0
    async with serving(tmp_path) as (_, http):
        run_id = response.headers["X-Run-Id"]
        rest = await all_events(await http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": last_seen}))
        assert " w0 w1 w2" + text_of(rest) == WHOLE_ANSWER
        found = await (await http.get(f"/api/conversations/{conversation_id}")).json()
        assert [(m["status"], m["content"]) for m in found["messages"]] == [
            ("complete", "hi"),
            ("complete", WHOLE_ANSWER),
        ]


async def test_reader_that_stopped_does_not_delay_the_exit(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _):
        small = socket.socket()
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
        small.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        reader, writer = await asyncio.open_connection(sock=small, limit=1 << 10)
        body = json.dumps(
            {"model": "fake-1", "prompt": "x", "stream": True, "max_tokens": 4000, "ignore_eos": True}
        ).encode()
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        writer.write(head + body)
        await reader.readuntil(b"\r\n\r\n")
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0
        writer.close()
        assert "timeout graceful shutdown exceeded" not in server.log


async def test_second_signal_ends_the_server_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, http):
        await asked(server, http)
        server.process.send_signal(signal.SIGTERM)
        await server.read_log_until("SIGTERM: stopping")
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 128 + signal.SIGTERM


async def test_starting_server_stops_at_the_first_signal(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        await server.read_log_until("Waiting for the order")
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_code() == 0


async def test_engine_build_failure_ends_the_server_with_its_reason(tmp_path: Path) -> None:
    async with process(tmp_path) as server:
        server.order("fail")
        assert await server.exit_code() == 1
        assert "The model does not fit" in server.log
        assert "Traceback" not in server.log


async def test_port_or_state_dir_in_use_is_reported(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _):
        port = int(server.url.rpartition(":")[2])
        async with process(tmp_path / "other", port=port) as second:
            assert await second.exit_code() == 1
            assert "--port" in second.log
        async with process(tmp_path / "other", ollama_port=port) as second:
            assert await second.exit_code() == 1
            assert "--ollama-port" in second.log
        async with process(tmp_path) as third:
            assert await third.exit_code() == 1
            assert "--state-dir" in third.log


async def test_answer_and_chat_continue_after_kill_9(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, http):
        conversation_id, response = await asked(server, http)
        await saved(tmp_path / "conversations.db", num_tokens=3)
        server.process.kill()
        await server.exit_code()
        response.close()
    async with serving(tmp_path) as (_, http):
        url = f"/api/conversations/{conversation_id}"
        run_id = response.headers["X-Run-Id"]
        rest = await all_events(
            await http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": f"{run_id}:0.4"})
        )
        assert text_of(rest) == WHOLE_ANSWER.removeprefix(" w0 w1 w2")
        assert rest[-1].data["message"]["status"] == "complete"
        going_on = await all_events(await http.post(f"{url}/messages", json={"content": "and?"}))
        assert text_of(going_on) == WHOLE_ANSWER


async def saved(database: Path, num_tokens: int) -> None:
    """Wait until the database holds `num_tokens` tokens of unfinished answers."""
    connection = sqlite3.connect(database)
    sql = "SELECT coalesce(sum(length(token_ids)), 0) FROM run_event"
    async with asyncio.timeout(20):
        # Another process writes the file, so there is no event to wait for.
        while connection.execute(sql).fetchone()[0] < num_tokens * ID_BYTES:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    connection.close()
