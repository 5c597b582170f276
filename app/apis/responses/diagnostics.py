"""Causes of divergences in the format of OpenAI's Responses.

Source: the types of the `openai` package, 3.57.
"""

from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import Any, Final

from app.domain.response_record import ResponseRecord
from app.prompts.cache_diagnostics import Cause, Divergence
from app.prompts.headless import HEAD
from app.prompts.turn_prompt import SUMMARY_HEAD as SUMMARY
from models.chat.format import Message

REASONS: Final[Mapping[Cause, str]] = {
    "model": "model_changed",
    "tools": "tools_changed",
    "system": "input_changed",
    "messages": "input_changed",
    "thinking": "reasoning_effort_changed",
}


def diagnostics_json(found: Divergence | None, messages: Sequence[Message]) -> dict[str, Any]:
    """Build the field `prompt_cache_diagnostics` of a response, whose prompt has the `messages`."""
    if found is None:
        return {"type": "cache_hit"}
    if found.cause not in REASONS:
        return {"type": "comparison_response_not_found" if found.cause == "not_found" else "unavailable"}
    return {
        "type": "cache_miss",
        "reason": "context_compacted" if _is_compacted(found, messages) else REASONS[found.cause],
        "cache_missed_tokens": found.missed,
        "comparison_reusable_tokens": found.reusable,
    }


def diagnostics_of(record: ResponseRecord, usage: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a response that tell the result of its comparison; none without one.

    A prompt that continues another hits nothing if its KV was evicted.

    usage: None until the answer has ended.
    """
    if (told := record.diagnostics) is None:
        return {}
    is_evicted = usage is not None and not usage["prompt_tokens_details"]["cached_tokens"]
    is_missed = told["type"] == "cache_hit" and is_evicted
    return {"prompt_cache_diagnostics": {"type": "unavailable"} if is_missed else told}


def _is_compacted(found: Divergence, messages: Sequence[Message]) -> bool:
    """Return whether a summary comes after the messages that are the same."""
    rest = (
        list(dropwhile(lambda message: message.role in HEAD, messages))[found.message :]
        if found.message is not None
        else []
    )
    return any(message.role == "assistant" and message.content.startswith(SUMMARY) for message in rest)
