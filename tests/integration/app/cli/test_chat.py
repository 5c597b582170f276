"""`ebb chat` in a real terminal with a real server. Only the model is fake."""

import asyncio
import os
import pty
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import aiohttp
import pytest

from app.cli.chat_answer import FAINT, NORMAL
from app.cli.main import main
from engine.testing.replay_engine import FAILING, ReplayEngine
from engine.wiring.build import build_engine
from tests.forked_process import ForkedProcess
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import engine_config
from tests.tiny_openpangu import ANSWER, THOUGHT, write_thinking_openpangu

DEADLINE_SECONDS = 20.0


class Terminal:
    """`ebb chat` in a pseudo-terminal, with its output so far in `screen`."""

    def __init__(self, *arguments: str) -> None:
        self.screen = ""
        self._seen = 0
        self._news = asyncio.Event()
        self._keyboard, inside = pty.openpty()
        self._process = ForkedProcess(main, ["chat", *arguments], stdin=inside, stdout=inside, stderr=inside)
        os.close(inside)
        asyncio.get_running_loop().add_reader(self._keyboard, self._read)

    @classmethod
    def chat_with(cls, url: str, *flags: str) -> Self:
        address = urlsplit(url)
        return cls("--host", str(address.hostname), "--port", str(address.port), *flags)

    async def shows(self, text: str) -> str:
        """Wait until `text` appears after the text of the previous wait. Return the output up to the end of `text`."""
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
async def terminal(api: RunningServer[ReplayEngine]) -> AsyncIterator[Terminal]:
    """`ebb chat` connected to `api`, ready for the first message."""
    terminal = Terminal.chat_with(api.url)
    await terminal.shows("Ctrl-D quits.")
    await terminal.shows("> ")
    yield terminal
    terminal.close()


async def asked(url: str, *arguments: str, piped: str = "") -> tuple[int, str, str]:
    """Run `ebb chat` without a terminal. Return its status, and what it wrote to standard output and error."""
    address = urlsplit(url)
    place = ("--host", str(address.hostname), "--port", str(address.port))
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write(piped.encode())
        given.seek(0)
        process = ForkedProcess(
            main, ["chat", *arguments, *place], stdin=given.fileno(), stdout=out.fileno(), stderr=errors.fileno()
        )
        status = await asyncio.wait_for(asyncio.to_thread(process.wait), DEADLINE_SECONDS)
        out.seek(0)
        errors.seek(0)
        return status, out.read().decode(), errors.read().decode()


async def messages(http: aiohttp.ClientSession) -> list[dict[str, object]]:
    async with http.get("/api/conversations") as response:
        (conversation,) = (await response.json())["data"]
    async with http.get(f"/api/conversations/{conversation['id']}") as response:
        return list((await response.json())["messages"])


async def test_answer_streams_with_a_receipt_and_ctrl_d_exits(terminal: Terminal) -> None:
    terminal.type("hello\n")
    await terminal.shows(" w0 w1 w2")
    await terminal.shows("prompt tokens: ")
    await terminal.shows("computed; first token after 2 ms")
    await terminal.shows("> ")
    terminal.type("\x04")
    assert await terminal.ends() == 0


async def test_second_turn_reports_reuse_of_the_first(terminal: Terminal) -> None:
    terminal.type("hello\n")
    await terminal.shows("\n> ")
    terminal.type("and again\n")
    assert "from the device, " in await terminal.shows("computed")


async def test_ctrl_c_cancels_the_run_and_the_chat_continues(
    api: RunningServer[ReplayEngine], http: aiohttp.ClientSession, terminal: Terminal
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


async def test_ctrl_c_before_the_first_word_cancels_the_run(
    api: RunningServer[ReplayEngine], terminal: Terminal
) -> None:
    api.engine.hold()
    terminal.type("hello\n")
    await api.engine.until_running(1)
    terminal.interrupt()
    await terminal.shows("(stopped)")
    assert api.engine.running == 0


async def test_failed_answer_is_reported_and_the_chat_continues(terminal: Terminal) -> None:
    terminal.type(f"{FAILING}\n")
    await terminal.shows("ebb: The model failed on this request")
    await terminal.shows("> ")
    terminal.type("\x04")
    assert await terminal.ends() == 0


async def test_empty_line_prompts_again_without_a_request(api: RunningServer[ReplayEngine], terminal: Terminal) -> None:
    terminal.type("  \n")
    await terminal.shows("> ")
    assert api.engine.requests == []


async def test_help_lists_the_commands_without_a_request(api: RunningServer[ReplayEngine], terminal: Terminal) -> None:
    terminal.type("/help\n")
    await terminal.shows("/thoughts  hide or show")
    await terminal.shows("> ")
    assert api.engine.requests == []


async def test_path_is_a_message_and_no_command(http: aiohttp.ClientSession, terminal: Terminal) -> None:
    terminal.type("/etc/hosts explain\n")
    await terminal.shows("computed")
    assert (await messages(http))[0]["content"] == "/etc/hosts explain"


@pytest.mark.parametrize(
    ("arguments", "piped", "content"),
    [(("why?",), "", "why?"), ((), "why\nnot?\n", "why\nnot?"), (("why?",), "notes\n", "why?\n\nnotes")],
)
async def test_one_question_prints_the_answer_alone(
    api: RunningServer[ReplayEngine], http: aiohttp.ClientSession, arguments: tuple[str, ...], piped: str, content: str
) -> None:
    status, out, errors = await asked(api.url, *arguments, piped=piped)
    answer = await messages(http)
    assert (status, out.strip(), errors) == (0, str(answer[1]["content"]).strip(), "")
    assert answer[0]["content"] == content


async def test_question_continues_newest_chat_and_its_system_prompt(
    api: RunningServer[ReplayEngine], http: aiohttp.ClientSession
) -> None:
    await asked(api.url, "one", "--system", "Be brief.")
    await asked(api.url, "two", "--continue")
    assert [message["role"] for message in await messages(http)] == ["user", "assistant"] * 2
    async with http.get("/api/conversations") as response:
        assert (await response.json())["data"][0]["system_prompt"] == "Be brief."


async def test_continued_chat_shows_the_end_of_its_last_answer(api: RunningServer[ReplayEngine]) -> None:
    await asked(api.url, "one")
    terminal = Terminal.chat_with(api.url, "--continue")
    try:
        await terminal.shows("Continuing “one”:")
        await terminal.shows("w11")
        await terminal.shows("> ")
    finally:
        terminal.close()


async def test_failed_or_empty_question_ends_with_a_status(api: RunningServer[ReplayEngine]) -> None:
    status, _, errors = await asked(api.url, FAILING)
    assert (status, "The model failed on this request" in errors) == (1, True)
    status, _, errors = await asked(api.url)
    assert (status, "there is no question" in errors) == (2, True)


async def test_unreachable_server_prints_how_to_start_one() -> None:
    terminal = Terminal("--port", "9")
    try:
        await terminal.shows("ebb: no server answers at http://127.0.0.1:9")
        await terminal.shows("Start a server in another terminal: ebb serve")
        assert await terminal.ends() == 1
    finally:
        terminal.close()


async def test_command_waits_for_a_starting_server(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), ready=False) as server:
        terminal = Terminal.chat_with(server.url)
        try:
            await terminal.shows("The server is starting: ")
            server.services.model.host.ready(server.engine, "identity")
            await terminal.shows("fake-1 at ")
        finally:
            terminal.close()


async def test_server_with_keys_requires_the_api_key_flag(api: RunningServer[ReplayEngine], tmp_path: Path) -> None:
    _, key = await api.services.access.administration.create_key("alice", "alice", "user")
    (tmp_path / "key").write_text(f"{key}\n")
    refused = Terminal.chat_with(api.url)
    welcome = Terminal.chat_with(api.url, "--api-key", f"@{tmp_path / 'key'}")
    await refused.shows("the server requires a valid API key: pass --api-key KEY")
    assert await refused.ends() == 1
    await welcome.shows("Ctrl-D quits.")
    welcome.type("hello\n")
    await welcome.shows(" w0 w1 w2")
    refused.close()
    welcome.close()


async def test_thoughts_command_hides_the_reasoning(tmp_path: Path) -> None:
    folder = write_thinking_openpangu(tmp_path / "pangu")
    config = engine_config(folder, tmp_path / "state", prefix_cache=False)
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        terminal = Terminal.chat_with(server.url)
        try:
            await terminal.shows("The model thinks before it answers: /thoughts hides or shows")
            terminal.type("Hi\n")
            await terminal.shows(f"{FAINT}{THOUGHT}{NORMAL}\r\n\r\n{ANSWER}")
            await terminal.shows("\n> ")
            terminal.type("/thoughts\n")
            await terminal.shows("Thoughts are hidden.")
            terminal.type("Hi\n")
            assert THOUGHT not in await terminal.shows(f"(thinking){NORMAL}\r\n\r\n{ANSWER}")
        finally:
            terminal.close()
