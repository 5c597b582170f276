"""Rules for the beginning of a prompt, which make it equal where clients of an API write it differently each time.

    sent      tools B, A | system: hash, text, date         | user: question
    rendered  tools A, B | system: text                     | user: date, question

Tools are described in the order of their names. Volatile lines leave the system prompt, and those that mean something
begin the first message of the user. In most templates the tools follow the system prompt, so that a line at its end
would still end their reuse.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from app.prompts.tool_offer import in_name_order
from app.prompts.volatile_lines import (
    KNOWN_LINES,
    UNTREATED,
    FoundLine,
    LineKind,
    TreatedLines,
    line_of_pattern,
    names_of,
    treat,
)
from models.chat.format import Message


@dataclass(frozen=True, slots=True)
class StableMessages:
    """Messages whose beginning follows the rules, and the lines that were treated."""

    messages: Sequence[Message]
    lines: TreatedLines = UNTREATED


@dataclass(frozen=True, slots=True)
class PrefixRules:
    """Rules for the beginning of a prompt. The defaults are those of a server without settings.

    kinds: kinds of volatile lines in the system prompt.
    sorts_tools: describe tools in the order of their names.
    """

    kinds: Sequence[LineKind] = KNOWN_LINES
    sorts_tools: bool = True

    @classmethod
    def chosen(cls, *, removed: Iterable[str], moved: Iterable[str], as_sent: bool) -> "PrefixRules":
        """Make the rules that the settings choose.

        removed, moved: the operator's patterns, as `app.config.parsers` parses them.
        as_sent: have no rules, whatever the patterns.
        """
        if as_sent:
            return AS_SENT
        own = [
            *(line_of_pattern(each, "removed") for each in removed),
            *(line_of_pattern(each, "moved") for each in moved),
        ]
        return cls((*own, *KNOWN_LINES))

    def apply(self, messages: Sequence[Message]) -> StableMessages:
        """Apply the rules to the messages of a request. Only tools and system messages at the beginning are covered."""
        head = list(takewhile(lambda message: message.role in ("tools", "system"), messages))
        stable, places, moved = list[Message](), list[FoundLine](), list[str]()
        for message in head:
            if message.role == "tools":
                stable.append(in_name_order(message) if self.sorts_tools else message)
                continue
            treated = treat(message.content, self.kinds)
            places += treated.places
            moved += treated.moved
            # A template may have its own system prompt, which an empty one would replace.
            if treated.text.strip() or not treated.places:
                stable.append(replace(message, content=treated.text))
        return StableMessages(_said_first(moved, stable, messages[len(head) :]), names_of(places))

    def stable_text(self, system_prompt: str | None) -> str | None:
        """Return the part of `system_prompt` that is in the prompt, in one text. Equal texts have equal prompts."""
        if not system_prompt:
            return system_prompt
        treated = treat(system_prompt, self.kinds)
        return "\n".join([treated.text, *treated.moved]) if treated.moved else treated.text


STABLE: Final = PrefixRules()
AS_SENT: Final = PrefixRules((), sorts_tools=False)
"""No rules, for servers that want none and for chats of the page: their system prompt is written once."""


def _said_first(moved: Sequence[str], head: list[Message], rest: Sequence[Message]) -> list[Message]:
    """Return `head` and `rest` with the moved lines at the beginning of the first message of the user.

    Without such a message, the lines become the end of the system prompt.
    """
    if not moved:
        return [*head, *rest]
    text = "\n".join(moved)
    for index, message in enumerate(rest):
        if message.role == "user":
            first = replace(message, content=f"{text}\n\n{message.content}")
            return [*head, *rest[:index], first, *rest[index + 1 :]]
    if head and head[-1].role == "system":
        return [*head[:-1], replace(head[-1], content=f"{head[-1].content.rstrip()}\n\n{text}"), *rest]
    return [*head, Message("system", text), *rest]
