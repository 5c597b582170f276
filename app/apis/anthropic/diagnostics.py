"""Causes of divergences in Anthropic's format.

Source: the types of the `anthropic` package, 2.14.
"""

from collections.abc import Mapping
from typing import Any, Final

from app.prompts.cache_diagnostics import Cause, Divergence

TYPES: Final[Mapping[Cause, str]] = {
    "model": "model_changed",
    "tools": "tools_changed",
    "system": "system_changed",
    "messages": "messages_changed",
    "not_found": "previous_message_not_found",
    "thinking": "unavailable",
    "other": "unavailable",
}


def diagnostics_json(found: Divergence | None) -> dict[str, Any] | None:
    """Build the field `diagnostics` of a message; None if its prompt continues the earlier one."""
    if found is None:
        return None
    reason: dict[str, Any] = {"type": TYPES[found.cause]}
    if found.cause not in ("not_found", "thinking", "other"):
        reason["cache_missed_input_tokens"] = found.missed
    return {"cache_miss_reason": reason}
