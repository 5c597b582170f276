"""Coding agents without a terminal, each with its defaults and the address of the server."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from bench.agents.install import NODE, install_node_program
from bench.agents.programs import run_program
from tests.conftest import default_cache_dir
from tests.integration.compatibility import Pinned

CODEX = Pinned("@openai/codex", "0.171.0", "Node")
OPENCODE = Pinned("opencode-ai", "1.18.33", "Node")
COPILOT = Pinned("@github/copilot", "1.0.102", "Node")
CLINE = Pinned("cline", "3.0.65", "Node")
ACP_SECONDS = 120.0
MAX_LINE = 1 << 24

Ask = Callable[[str], Awaitable[None]]
"""Function that asks the next question of a session, and returns at the end of the answer."""


class Agent(Protocol):
    """A coding agent."""

    @property
    def tool(self) -> str:
        """A tool that the agent offers, and that changes nothing."""

    def session(self, zone: str) -> AbstractAsyncContextManager[Ask]:
        """Begin a session on the date of the time zone `zone`."""


@dataclass(frozen=True)
class PrintedAgent:
    """Agent that prints one answer per process.

    home: its home, which has the folder of the project.
    first, later: options before the first question of a session, and before each later one.
    """

    program: Path
    home: Path
    first: tuple[str, ...]
    later: tuple[str, ...]
    tool: str
    variables: Mapping[str, str]

    @asynccontextmanager
    async def session(self, zone: str) -> AsyncIterator[Ask]:
        """Begin a session (Agent)."""
        begun = False

        async def ask(question: str) -> None:
            nonlocal begun
            options = self.later if begun else self.first
            begun = True
            await run_program([str(self.program), *options, question], *place(self.home, zone, self.variables))

        yield ask


class Editor:
    """An editor that drives an agent over the Agent Client Protocol: JSON-RPC, one message a line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._calls = 0

    async def call(self, method: str, **params: Any) -> Any:
        """Call a method of the agent and return the result. Raise AssertionError with its error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls += 1
        message = {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        while True:
            line = await asyncio.wait_for(self._process.stdout.readline(), ACP_SECONDS)
            answer = json.loads(line or b'{"id": 0}')
            assert line, f"the agent ended in {method}"
            assert "error" not in answer, answer
            if "method" not in answer and answer.get("id") == self._calls:
                return answer["result"]


@dataclass(frozen=True)
class EditedAgent:
    """Agent that an editor drives: one process per session."""

    program: Path
    home: Path
    tool: str
    variables: Mapping[str, str]

    @asynccontextmanager
    async def session(self, zone: str) -> AsyncIterator[Ask]:
        """Begin a session (Agent)."""
        folder, environment = place(self.home, zone, self.variables)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(self.program, "--acp", "--auto-approve", "true"),
            cwd=folder,
            env=environment,
            stdin=pipe,
            stdout=pipe,
            limit=MAX_LINE,
        )
        try:
            editor = Editor(process)
            await editor.call("initialize", protocolVersion=1, clientCapabilities={})
            session = (await editor.call("session/new", cwd=str(folder), mcpServers=[]))["sessionId"]

            async def ask(question: str) -> None:
                await editor.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": question}])

            yield ask
        finally:
            process.kill()
            await process.wait()


def place(home: Path, zone: str, variables: Mapping[str, str]) -> tuple[Path, dict[str, str]]:
    """Return the folder of the project, and the environment of an agent's process."""
    folder = home / "project"
    folder.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(NODE / "bin"), os.environ["PATH"]])
    plain = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "TZ": zone}
    return folder, {**plain, **variables}


def codex(url: str, key: str, home: Path) -> PrintedAgent:
    """Install Codex CLI, with a provider and no model, so that it asks for its default model."""
    config = home / ".codex" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'model_provider = "ebb"\n[model_providers.ebb]\nname = "Ebb"\n'
        f'base_url = "{url}/v1"\nenv_key = "EBB_KEY"\nwire_api = "responses"\n'
    )
    options = ("exec", "--skip-git-repo-check")
    return PrintedAgent(
        install(CODEX, "codex", "(420 MB)"),
        home,
        options,
        (*options, "resume", "--last"),
        "list_agents",
        {"EBB_KEY": key},
    )


def opencode(url: str, key: str, home: Path, model: str) -> PrintedAgent:
    """Install opencode, with a provider that is compatible with OpenAI."""
    config = home / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Ebb",
        "options": {"baseURL": f"{url}/v1", "apiKey": key},
        "models": {model: {}},
    }
    config.write_text(json.dumps({"provider": {"ebb": provider}, "model": f"ebb/{model}"}))
    return PrintedAgent(install(OPENCODE, "opencode", "(350 MB)"), home, ("run",), ("run", "--continue"), "glob", {})


def copilot(url: str, key: str, home: Path, model: str) -> PrintedAgent:
    """Install GitHub Copilot CLI, with a model provider of the user's own."""
    variables = {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": key,
        "COPILOT_MODEL": model,
    }
    return PrintedAgent(
        install(COPILOT, "copilot", "(190 MB)"), home, ("-p",), ("--continue", "-p"), "list_bash", variables
    )


def cline_in_editor(url: str, key: str, home: Path, model: str) -> EditedAgent:
    """Install Cline CLI for an editor: without a terminal, it continues a session only there."""
    program, variables = _cline(url, key, home, model)
    in_editor = {"CLINE_PROVIDER": "openai-compatible", "CLINE_API_KEY": key}
    return EditedAgent(program, home, "search_codebase", {**variables, **in_editor})


def cline(url: str, key: str, home: Path, model: str) -> PrintedAgent:
    """Install Cline CLI, which answers one question per session."""
    program, variables = _cline(url, key, home, model)
    return PrintedAgent(program, home, (), (), "team_status", variables)


def _cline(url: str, key: str, home: Path, model: str) -> tuple[Path, dict[str, str]]:
    program = install(CLINE, "cline", "(430 MB)")
    # A hub process would outlive the tests.
    variables = {"CLINE_SESSION_BACKEND_MODE": "local"}
    provider = ("auth", "-p", "openai-compatible", "-k", key, "-m", model, "-b", f"{url}/v1")
    folder, environment = place(home, "UTC", variables)
    subprocess.run([program, *provider], cwd=folder, env=environment, check=True, capture_output=True)
    return program, variables


def install(package: Pinned, program: str, size: str) -> Path:
    """Install a package of npm at first use, and return its program."""
    return install_node_program(default_cache_dir(), package.name, package.version, program, size)
