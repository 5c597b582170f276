"""`ebb chat` in a real terminal, with a real server behind it; only the model is made up."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import aiohttp
import pytest

from app.chat_answer import FAINT, NORMAL
from engine.build import build_engine
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import engine_config
from tests.tiny_openpangu import ANSWER, THOUGHT, write_thinking_openpangu
from tests.unit.fake_engine import FAILING, FakeEngine

COMMAND = (sys.executable, "-c", "import sys; from app.cli import main; sys.exit(main())", "chat")
DEADLINE_SECONDS = 20.0


class Terminal:
    """A program in a pseudo-terminal: what it shows, and keys to press."""

    def __init__(self, *command: str) -> None:
        self.screen = ""
        self._seen = 0
        self._news = asyncio.Event()
        self._keyboard, inside = pty.openpty()
        # What runs in the background may have been started with SIGINT ignored, which a child inherits.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
        os.close(inside)
        asyncio.get_running_loop().add_reader(self._keyboard, self._read)

    @classmethod
    def chat_with(cls, url: str, *flags: str) -> Self:
        address = urlsplit(url)
        return cls(*COMMAND, "--host", str(address.hostname), "--port", str(address.port), *flags)

    async def shows(self, text: str) -> str:
        """Wait until `text` appears after what was waited for before; returns what came up to its end."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while (at := self.screen.find(text, self._seen)) < 0:
                self._news.clear()
                await self._news.wait()
        start, self._seen = self._seen, at + len(text)
        return self.screen[start : self._seen]

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    async def ends(self) -> int:
        return await asyncio.wait_for(asyncio.to_thread(self._process.wait), DEADLINE_SECONDS)

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._keyboard)
        self._process.kill()
        self._process.wait()
        os.close(self._keyboard)

    def _read(self) -> None:
        try:
            self.screen += os.read(self._keyboard, 4096).decode()
        except OSError:  # the program has ended
            asyncio.get_running_loop().remove_reader(self._keyboard)
        self._news.set()


@pytest.fixture
async def terminal(api: RunningServer[FakeEngine]) -> AsyncIterator[Terminal]:
    """`ebb chat` with `api`, ready for the first message."""
    terminal = Terminal.chat_with(api.url)
    await terminal.shows("Ctrl-D leaves.")
    await terminal.shows("> ")
    yield terminal
    terminal.close()


async def messages(http: aiohttp.ClientSession) -> list[dict[str, object]]:
    async with http.get("/api/conversations") as response:
        (conversation,) = (await response.json())["data"]
    async with http.get(f"/api/conversations/{conversation['id']}") as response:
        return list((await response.json())["messages"])


async def test_an_answer_streams_ends_with_its_receipt_and_ctrl_d_leaves(terminal: Terminal) -> None:
    terminal.type("hello\n")
    await terminal.shows(" w0 w1 w2")
    await terminal.shows("prompt tokens: ")
    await terminal.shows("computed; first token after 2 ms")
    await terminal.shows("> ")
    terminal.type("\x04")
    assert await terminal.ends() == 0


async def test_the_second_turn_reuses_the_first_and_says_so(terminal: Terminal) -> None:
    terminal.type("hello\n")
    await terminal.shows("\n> ")
    terminal.type("and again\n")
    assert "from the device, " in await terminal.shows("computed")


async def test_ctrl_c_stops_the_answer_on_the_server_and_the_chat_goes_on(
    api: RunningServer[FakeEngine], http: aiohttp.ClientSession, terminal: Terminal
) -> None:
    api.engine.hold()
    terminal.type("hello\n")
    api.engine.allow(3)
    await terminal.shows("w2")
    terminal.interrupt()
    await terminal.shows("(stopped)")
    assert api.engine.running == 0
    assert [message["status"] for message in await messages(http)] == ["complete", "cancelled"]
    api.engine.allow(None)
    await terminal.shows("> ")
    terminal.type("go on\n")
    await terminal.shows("w11")


async def test_ctrl_c_before_the_first_word_stops_the_answer_too(
    api: RunningServer[FakeEngine], terminal: Terminal
) -> None:
    api.engine.hold()
    terminal.type("hello\n")
    await api.engine.until_running(1)
    terminal.interrupt()
    await terminal.shows("(stopped)")
    assert api.engine.running == 0


async def test_a_failed_answer_is_told_and_the_chat_goes_on(terminal: Terminal) -> None:
    terminal.type(f"{FAILING}\n")
    await terminal.shows("ebb: The model failed on this request")
    await terminal.shows("> ")
    terminal.type("\x04")
    assert await terminal.ends() == 0


async def test_an_empty_line_asks_again_without_asking_the_model(
    api: RunningServer[FakeEngine], terminal: Terminal
) -> None:
    terminal.type("  \n")
    await terminal.shows("> ")
    assert api.engine.requests == []


async def test_without_a_server_the_command_says_how_to_start_one() -> None:
    terminal = Terminal(*COMMAND, "--port", "9")
    try:
        await terminal.shows("ebb: no server answers at http://127.0.0.1:9")
        await terminal.shows("Start one in another terminal: ebb serve")
        assert await terminal.ends() == 1
    finally:
        terminal.close()


async def test_a_server_that_starts_is_waited_for(tmp_path: Path) -> None:
    async with running_server(tmp_path, FakeEngine(), ready=False) as server:
        terminal = Terminal.chat_with(server.url)
        try:
            await terminal.shows("The server is starting: ")
            server.services.host.ready(server.engine, "identity")
            await terminal.shows("fake-1 at ")
        finally:
            terminal.close()


async def test_a_server_with_keys_is_talked_to_with_one(api: RunningServer[FakeEngine], tmp_path: Path) -> None:
    _, key = await api.services.administration.create_key("alice", "alice", "user")
    (tmp_path / "key").write_text(f"{key}\n")
    refused = Terminal.chat_with(api.url)
    welcome = Terminal.chat_with(api.url, "--api-key", f"@{tmp_path / 'key'}")
    await refused.shows("the server demands a key that opens it: --api-key KEY")
    assert await refused.ends() == 1
    await welcome.shows("Ctrl-D leaves.")
    welcome.type("hello\n")
    await welcome.shows(" w0 w1 w2")
    refused.close()
    welcome.close()


async def test_thoughts_are_shown_until_they_are_hidden(tmp_path: Path) -> None:
    folder = write_thinking_openpangu(tmp_path / "pangu")
    config = engine_config(folder, tmp_path / "state", prefix_cache=False)
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        terminal = Terminal.chat_with(server.url)
        try:
            await terminal.shows("It thinks before it answers: /thoughts hides that")
            terminal.type("Hi\n")
            await terminal.shows(f"{FAINT}{THOUGHT}{NORMAL}\r\n\r\n{ANSWER}")
            await terminal.shows("\n> ")
            terminal.type("/thoughts\n")
            await terminal.shows("Thoughts are hidden.")
            terminal.type("Hi\n")
            assert THOUGHT not in await terminal.shows(f"(thinking){NORMAL}\r\n\r\n{ANSWER}")
        finally:
            terminal.close()
