"""Claude Code in print mode, with the environment that docs/reference/api shows."""

import json
from pathlib import Path
from typing import Any

from bench.agents.install import CLAUDE_CODE, install_claude_code
from tests.clients.heavy.served import Served, run
from tests.conftest import default_cache_dir
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("@anthropic-ai/claude-code", CLAUDE_CODE, "Node")


def ask(ebb: Served, folder: Path, *arguments: str) -> dict[str, Any]:
    variables = {
        "ANTHROPIC_BASE_URL": ebb.url,
        "ANTHROPIC_AUTH_TOKEN": ebb.key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    command: list[str | Path] = [install_claude_code(default_cache_dir()), "--output-format", "json", *arguments]
    answer: dict[str, Any] = json.loads(run(command, folder, variables))
    return answer


@row(PROGRAM, "claude -p --continue ...", "the conversation, the tools and the system prompt are found again: "
     "`cache_read_input_tokens`, whatever the billing header")  # fmt: skip
@row(PROGRAM, "claude -p ...", "the answer; `ANTHROPIC_BASE_URL`, `ANTHROPIC_AUTH_TOKEN` and an alias for the model")
def test_claude_code_answers_and_continues(ebb: Served, tmp_path: Path) -> None:
    first = ask(ebb, tmp_path, "-p", "Why is the sea salty?")
    assert (first["type"], first["subtype"], first["is_error"]) == ("result", "success", False)
    second = ask(ebb, tmp_path, "--continue", "-p", "And rivers?")
    assert second["session_id"] == first["session_id"]
    usage = second["usage"]
    assert usage["cache_read_input_tokens"] > 0.95 * (usage["cache_read_input_tokens"] + usage["input_tokens"])
