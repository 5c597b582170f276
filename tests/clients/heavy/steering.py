"""Changes of a coding agent's requests that a model of random weights needs to call tools and to end its answers."""

from collections.abc import Mapping, Sequence
from typing import Any

SHORT = 10.0
"""Bias of the marks that end an argument or all of them: one in a few ids is such a mark."""


class Steering:
    """Change of the requests that offer tools. While `is_due`, the next one has to call the tool `tool`.

    ends: ids of the quotation mark and of the bracket that end arguments.
    """

    def __init__(self, ends: Sequence[int]) -> None:
        self.tool = ""
        self.is_due = False
        self._bias = {str(id_): SHORT for id_ in ends}

    def __call__(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the body that the server receives in place of `body`."""
        # At temperature 0, a model of random weights may repeat itself until the window ends.
        changed = {name: value for name, value in body.items() if name != "temperature"}
        if self.is_due and offers_tools(body):
            self.is_due = False
            changed |= self._required_call(is_chat="messages" in body)
        return changed

    def _required_call(self, *, is_chat: bool) -> dict[str, Any]:
        if not is_chat:
            return {"tool_choice": {"type": "function", "name": self.tool}}
        choice = {"type": "function", "function": {"name": self.tool}}
        return {"tool_choice": choice, "logit_bias": self._bias}


def offers_tools(body: Mapping[str, Any]) -> bool:
    """Return whether a request belongs to the conversation. Requests for a title offer no tools."""
    items = body.get("input")
    return bool(body.get("tools")) or (
        isinstance(items, list) and any(item.get("type") == "additional_tools" for item in items)
    )
