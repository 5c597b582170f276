"""Request bodies of clients whose system prompt has a line that changes, shortened, with the line in its real form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.schemas.parsing import parse_object
from models.chat.format import Message

MODEL = "smollm2"
CACHED = {"cache_control": {"type": "ephemeral"}}
IDENTITY = "You are Claude Code, Anthropic's official CLI for Claude."
FIX = "Fix the failing test in app.py."


@dataclass(frozen=True)
class Harness:
    """A client with a line that changes between its requests.

    kind: name of the line in receipts.
    make: makes a body from the line as it is sent.
    lines: forms of the line, each in another request.
    """

    client: str
    kind: str
    make: Callable[[str], dict[str, Any]]
    lines: tuple[str, ...]

    def turns(self, line: str) -> list[Message]:
        """Return the messages for the chat template, as the client's route makes them."""
        body = self.make(line)
        if "max_tokens" in body:
            return parse_object(MessagesRequest, body).turns()
        return parse_object(ChatCompletionRequest, body).turns()


def block(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **fields}


def claude_code(header: str, git_status: str = "") -> dict[str, Any]:
    """Make a body of Claude Code 2.1. The block of the header has no line break at its end."""
    rules = "\nYou help users with software engineering tasks.\n\n# Environment\n - Platform: linux\n"
    reminder = "<system-reminder>\n# currentDate\nToday's date is 2026-04-08.\n</system-reminder>\n"
    return {
        "model": MODEL,
        "max_tokens": 32,
        "metadata": {"user_id": "user_0_account__session_0"},
        "system": [block(header), block(IDENTITY, **CACHED), block(rules + git_status, **CACHED)],
        "messages": [{"role": "user", "content": [block(reminder), block(FIX, **CACHED)]}],
        "tools": [
            {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}},
            {"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object", "properties": {}}},
        ],
    }


def claude_code_2_0(line: str) -> dict[str, Any]:
    """Make a body of Claude Code 2.0, whose date is in the system prompt."""
    env = f"<env>\nWorking directory: /srv/app\nPlatform: linux\nOS Version: Linux 6.12\n{line}\n</env>\nThe end."
    system = [block(IDENTITY, **CACHED), block(f"\nYou are an interactive CLI tool.\n\n{env}", **CACHED)]
    return {**claude_code(""), "system": system}


def chat(system: str) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "system", "content": system}, {"role": "user", "content": FIX}]}


def opencode(line: str) -> dict[str, Any]:
    env = f"<env>\n  Working directory: /srv/app\n  Platform: linux\n  {line}\n</env>"
    return chat(f"You are opencode, an agent.\n\nHere is some useful information:\n{env}\n<files>\n  \n</files>")


def crush(line: str) -> dict[str, Any]:
    return chat(f"You are Crush.\n\n<env>\nWorking directory: /srv/app\n{line}\n</env>\n\n<lsp>\n</lsp>\n")


def aider(line: str) -> dict[str, Any]:
    platform = f"- Platform: Linux-6.12\n{line}\n- The user is operating inside a git repository\n"
    return chat(f"Act as an expert software developer.\n\nKeep in mind:\n{platform}\nEvery block must apply.")


def pi(line: str) -> dict[str, Any]:
    return chat(f"You are an expert coding assistant.\n\nGuidelines:\n- Be concise\n{line}\nCurrent directory: /srv")


def goose(line: str) -> dict[str, Any]:
    return chat(f"You are a general-purpose AI agent called goose.\n\n{line}\n\n# Extensions\n\nNone are defined.")


def kimi_cli(line: str) -> dict[str, Any]:
    return chat(f"You are Kimi Code CLI.\n\n## Date and Time\n\n{line}\n\n## Working Directory\n\nIt is `/srv/app`.")


def home_assistant(line: str) -> dict[str, Any]:
    return chat(f"{line}\nYou are a voice assistant for Home Assistant.\nAnswer in plain text.\n- names: Bedroom light")


def cline(line: str) -> dict[str, Any]:
    return chat(f"You are Cline.\n\n<env>\n1. Platform: linux\n{line}\n3. IDE: CLI\n</env>\n\nUse one tool at a time.")


def copilot(line: str) -> dict[str, Any]:
    return chat(f"You are the GitHub Copilot CLI.\n\n<session_context>\n{line}\nPlan file: plan.md\n</session_context>")


def git_status(status: str, branch_break: str = "\n") -> str:
    """Return the text with which Claude Code ends its system prompt."""
    return (
        "gitStatus: This is the git status at the start of the conversation. Note that this status is a snapshot in "
        f"time, and will not update during the conversation.{branch_break}Current branch: main\n\nMain branch (you "
        f"will usually use this for PRs): main\n\nStatus:\n{status}\n\nRecent commits:\n5183890 feat: route by model\n"
        "d6c99bb fix: resolve lint errors"
    )


IDS = ("0b0dcd3e-0c43-4f56-a6b2-5b9dd0f7c9a1", "8f1d2c3b-9a8b-4c7d-8e6f-0123456789ab")
HEADER = "x-anthropic-billing-header: cc_version=2.1.{}; cc_entrypoint={};"
KIMI_DATE = (
    "The current date and time in ISO format is `{}`. This is only a reference for you when searching the web. If you "
    "need the exact time, use Shell tool with proper command."
)

HARNESSES = (
    Harness(
        "Claude Code 2.1",
        "claude-code-billing-header",
        claude_code,
        (
            HEADER.format("100.7b4", "cli") + " cch=eb6c6;",
            HEADER.format("100.7b4", "cli") + " cch=0aaa9;",
            HEADER.format("177.01c", "sdk-cli") + " cch=36ee5; cc_workload=cron;",
            HEADER.format("224.b44", "cli") + " cc_is_subagent=true;",
            HEADER.format("330.050", "sdk-cli"),
            HEADER.format("263", "cli") + " cc_prev_req=req_011CTx9YHtT6; cc_prompt_id=018f1a2b-0000-7000;",
        ),
    ),
    Harness(
        "Claude Code 2.1 with a git status",
        "claude-code-git-status",
        lambda status: claude_code(HEADER.format("104.f27", "cli"), "\n" + status),
        (git_status("(clean)"), git_status("M app.py\n?? notes.md", "\n\n")),
    ),
    Harness("Claude Code", "todays-date", claude_code_2_0, ("Today's date: 2025-09-30", "Today's date: 2025-10-01")),
    Harness("opencode", "todays-date", opencode, ("Today's date: Mon Sep 07 2026", "Today's date: Tue Sep 08 2026")),
    Harness("Crush", "todays-date", crush, ("Today's date: 9/7/2026", "Today's date: 12/31/2026")),
    Harness("aider", "current-date", aider, ("- Current date: 2026-01-05", "- Current date: 2026-01-06")),
    Harness("Pi", "current-date", pi, ("Current date: 2026-06-09", "Current date: 2026-06-10")),
    Harness(
        "Pi with a clock",
        "current-date-and-time",
        pi,
        (
            "Current date and time: Tuesday, June 9, 2026 at 03:04:20 PM GMT+3",
            "Current date and time: Tuesday, June 9, 2026 at 03:04:21\u202fPM GMT+3",
            "Current date and time: Tuesday, June 9, 2026, 03:04:22 PM +03:00",
        ),
    ),
    Harness(
        "goose",
        "goose-date",
        goose,
        ("The current date is 2026-09-07 14:00.", "The current date is 2025-02-01 09:12:59."),
    ),
    Harness(
        "Kimi CLI",
        "kimi-cli-date",
        kimi_cli,
        (KIMI_DATE.format("2026-01-05T10:11:12.123456+08:00"), KIMI_DATE.format("2026-01-05T10:31:02.000001+08:00")),
    ),
    Harness(
        "Home Assistant",
        "home-assistant-clock",
        home_assistant,
        (
            "Current time is 20:37:19. Today's date is 2024-12-20.",
            "Current time is 20:37:21. Today's date is 2024-12-20.",
        ),
    ),
    Harness("Cline", "current-date", cline, ("2. Date: 11/28/2026", "2. Date: 11/29/2026")),
    Harness(
        "Copilot CLI",
        "session-id",
        copilot,
        tuple(f"Session folder: /home/ann/.copilot/session-state/{id_}" for id_ in IDS),
    ),
    *(
        Harness(f"a client with {label}", kind, pi, tuple(f"{label}{value}" for value in values))
        for label, kind, values in (
            ("Today is: ", "current-date", ("Saturday, November 28, 2026", "Sunday, November 29, 2026")),
            ("**Date:** ", "current-date", ("28 November 2026", "29 November 2026")),
            ("**Current Date**: ", "current-date", ("2026-11-28", "2026-11-29")),
            ("- Now: ", "current-date-and-time", ("2026-11-28T09:15:22.123Z", "2026-11-28T09:15:23Z")),
            ("Local time: ", "current-date-and-time", ("9:15 PM", "9:16 PM")),
            ("Started at: ", "current-date-and-time", ("2026-11-28 09:15:22 +0100", "2026-11-29 09:15:22 UTC")),
            ("Request id: ", "session-id", IDS),
        )
    ),
)
