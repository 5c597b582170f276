"""Claude Code and aider, each asked one question per process, as a script would ask them."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from bench.agents.install import AIDER, CLAUDE_CODE, NODE
from bench.agents.model import MODEL_NAME
from bench.agents.project import Project

TURN_SECONDS: Final = 300.0
WINDOW: Final = 131_072


class AgentFailedError(Exception):
    """A turn that ended with an error, or too late. Carries the end of the program's output."""


class Agent(Protocol):
    """A coding agent and its conversation.

    rules_name: name of the file from which it reads a project's rules.
    """

    name: str
    version: str
    rules_name: str

    async def ask(self, question: str, *, continues: bool) -> None:
        """Ask a question, in the last conversation or in a new one. Raise AgentFailedError."""

    def is_turn(self, body: Mapping[str, Any]) -> bool:
        """Return whether a request belongs to the conversation, and is none in the background."""


class ClaudeCode:
    """Claude Code in print mode, which keeps the conversation in its configuration folder."""

    name = "claude-code"
    version = CLAUDE_CODE
    rules_name = "CLAUDE.md"

    def __init__(self, program: Path, project: Project, home: Path, url: str) -> None:
        self._command = [str(program), "--print"]
        self._project = project
        self._environment = {
            **_environment(home),
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_AUTH_TOKEN": "none",
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    async def ask(self, question: str, *, continues: bool) -> None:
        """Ask a question (Agent)."""
        continued = ["--continue"] if continues else []
        await run_program([*self._command, *continued, question], self._project.folder, self._environment)

    def is_turn(self, body: Mapping[str, Any]) -> bool:
        """Return whether a request offers tools (Agent). Requests for a title or a summary offer none."""
        return bool(body.get("tools"))


class Aider:
    """aider with one message per process, and the project's modules to read.

    The conversation is restored from the history that aider keeps as Markdown.
    """

    name = "aider"
    version = AIDER
    rules_name = "CONVENTIONS.md"

    def __init__(self, program: Path, project: Project, home: Path, url: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        metadata, settings = home / "metadata.json", home / "settings.json"
        window = {"max_input_tokens": WINDOW, "max_output_tokens": WINDOW, "litellm_provider": "openai", "mode": "chat"}
        metadata.write_text(json.dumps({f"openai/{MODEL_NAME}": window}))
        # At temperature 0, a model of random weights may repeat itself until the window ends.
        settings.write_text(json.dumps([{"name": f"openai/{MODEL_NAME}", "use_temperature": 1.0}]))
        self._project = project
        self._command = [
            *(str(program), "--model", f"openai/{MODEL_NAME}", "--model-metadata-file", str(metadata)),
            *("--model-settings-file", str(settings), "--read", self.rules_name, "--cache-prompts"),
            *("--yes-always", "--no-auto-commits", "--no-gitignore", "--no-pretty", "--no-check-update"),
            *("--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable"),
            *(part for module in project.modules for part in ("--read", module)),
        ]
        self._environment = {
            **_environment(home),
            "OPENAI_API_BASE": f"{url}/v1",
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            # aider keeps the files to read in a set, so each process would write them in another order.
            "PYTHONHASHSEED": "0",
        }

    async def ask(self, question: str, *, continues: bool) -> None:
        """Ask a question (Agent)."""
        restored = ["--restore-chat-history"] if continues else []
        command = [*self._command, *restored, "--message", question]
        await run_program(command, self._project.folder, self._environment)

    def is_turn(self, body: Mapping[str, Any]) -> bool:
        """Return whether a request is not one for a summary of the history (Agent)."""
        messages = body.get("messages", [])
        return bool(messages) and "*Briefly* summarize" not in str(messages[0].get("content"))


async def run_program(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float = TURN_SECONDS
) -> str:
    """Run `command` in `folder` to its end and return its output. Raise AgentFailedError."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError as error:
        raise AgentFailedError(f"{command[0]} took more than {seconds:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode(errors="replace")
    if process.returncode != 0:
        raise AgentFailedError(f"{command[0]} ended with status {process.returncode}:\n{text[-4000:]}")
    return text


def _environment(home: Path) -> dict[str, str]:
    """Return an environment without settings of the user's own agents."""
    home.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(NODE / "bin"), os.environ["PATH"]])
    return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb"}
