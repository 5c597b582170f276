"""Summaries that stand for messages in a prompt."""

from typing import Final

TASK: Final = (
    "Summarize this conversation for an assistant that will continue it without seeing it. Say what was asked, found, "
    "decided and done, with names, numbers and paths as they are, and what is left to do. Write nothing else."
)
"""Request for a summary, as the last message of the user."""

HEAD: Final = "Summary of the conversation so far:\n"


def with_summary(system_prompt: str | None, summary: str | None) -> str | None:
    """Return the system prompt with a summary at its end. None stands for the lack of either."""
    if summary is None:
        return system_prompt
    return "\n\n".join(part for part in (system_prompt, HEAD + summary) if part)
