"""Interface of a model family's syntax of tool calls."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from models.chat.harmony_thinking import Channels
from models.chat.tool_call_parser import CallMarks, CallReader
from models.chat.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """Texts about tools in prompts, for templates that do not write them.

    instructions: text of the system message, with a placeholder for the tools. Marks in it are control tokens.
    result_role: role of the message with a call's result.
    result: text of that message, with a placeholder for the result.
    as_list: write the tools as one JSON list; False writes each on its own line.
    on_own_line: a call after a text begins on a new line.
    """

    instructions: str
    result_role: str
    result: str
    as_list: bool = False
    on_own_line: bool = False


def instructions(calling: str) -> str:
    """Return a text for `PromptTexts`. calling: how to call the tools. Braces in it are doubled."""
    return f"# Tools\n\nYou may call functions. Their signatures:\n{{tools}}\n\n{calling}"


@dataclass(frozen=True, slots=True)
class CallIds:
    """Ids by which results refer to their calls in prompts. Clients have other ids, so Ebb numbers the calls.

    form: an id, with placeholders for the name of the function and the number of the call in its conversation. Nine
        characters suit Mistral's templates.
    written: matches the id in a call that a model wrote, which is its first group. None if models write no ids.
    """

    form: str = "{number:09}"
    written: re.Pattern[str] | None = None

    def of(self, name: str, number: int) -> str:
        """Return the id of a call of the function `name`."""
        return self.form.format(name=name, number=number)


NUMBERED: Final = CallIds()


class CallSyntax(Protocol):
    """Syntax of one model family's tool calls."""

    @property
    def marks(self) -> CallMarks:
        """Texts around calls, by which a parser finds them in an answer."""

    @property
    def texts(self) -> PromptTexts:
        """Texts about tools in prompts."""

    @property
    def ids(self) -> CallIds:
        """Ids of calls in prompts."""

    @property
    def words(self) -> tuple[str, ...]:
        """Texts in calls that are control tokens of some tokenizers."""

    @property
    def call_words(self) -> tuple[str, ...]:
        """Mark of a call and the words after it, which tell a call from a mention of the mark. Empty if none do."""

    def json_fields(self, tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """Return the names that a reader needs where only the schemas of the tools tell text from other values.

        tools: the functions that an answer may call, in OpenAI's format.
        """

    @property
    def channels(self) -> Channels | None:
        """Channels of an answer, of which one is that of text; None if an answer is one text."""

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """Create a reader of the text after `mark`.

        json_fields: the names of the method `json_fields`.
        """

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """Write an answer's calls as the model does. clean: applied to names and arguments."""

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """Build the rules of a grammar, in llguidance's dialect of Lark, for 1 to `most` calls of `tools`.

        The line above the rules of a tool's arguments is `comment(tool)` (`models.chat.call_syntax.rules`).

        spell: writes a text for the grammar, in which a control token is an id.
        """
