"""Tool format of a model: how a prompt presents tools and results, and how an answer calls tools."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.chat.call_syntax.interface import CallSyntax
from models.chat.call_syntax.registry import FALLBACK, recognized, syntax_named
from models.chat.call_syntax.rules import json_text
from models.chat.template_tools import NOTHING, TemplateTools
from models.chat.tool_call_parser import ToolCallParser
from models.chat.tool_calls import ToolCall

MAX_CALLS = 8
"""Maximum number of calls in an answer that must call a tool, because a weak model may never stop calling."""

MAX_FREE_CALLS = 64
"""Maximum number of calls in one frame of an answer that may call tools."""


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """The tool format of one model.

    name: name of the syntax in `models.chat.call_syntax.registry`.
    control_ids: ids of the model's control tokens by text.
    template: parts that the model's own chat template writes.
    is_known: the format was recognized or named by a setting, and is not the one of models whose own is unknown.
    is_foreign: the chat template writes tools in its own format that Ebb does not know.
    """

    name: str
    syntax: CallSyntax
    control_ids: Mapping[str, int]
    template: TemplateTools = NOTHING
    is_known: bool = False
    is_foreign: bool = False

    def parser(
        self, *, parallel: bool = True, tools: Sequence[Mapping[str, Any]] = (), only_complete: bool = False
    ) -> ToolCallParser:
        """Create a parser for one answer.

        tools: the functions that the answer may call, in OpenAI's format.
        parallel, only_complete: as in ToolCallParser.
        """
        fields = self.syntax.json_fields(tools)
        return make_parser(self.syntax, parallel=parallel, json_fields=fields, only_complete=only_complete)

    def system(self, tools: str, clean: Callable[[str], str] = str) -> str:
        """Format the system message's text about `tools`, a JSON list. clean: applied to the tools."""
        listed, texts = json.loads(tools), self.syntax.texts
        text = json_text(listed) if texts.as_list else "\n".join(map(json_text, listed))
        return texts.instructions.format(tools=clean(text))

    def calls(self, calls: Sequence[ToolCall], clean: Callable[[str], str] = str) -> str:
        """Format an answer's calls as the model writes them. Arguments that are not a JSON object become a string.

        clean: applied to everything except the marks.
        """
        return self.syntax.written(calls, clean)

    def grammar(self, tools: Sequence[Mapping[str, Any]], *, parallel: bool) -> str:
        """Build a grammar, in llguidance's dialect of Lark, for an answer that calls some of `tools` and has no text.

        tools: the functions, in OpenAI's format.
        parallel: allow up to MAX_CALLS calls; False allows one.
        """
        return "\n".join(self.syntax.grammar(tools, self._spelled, MAX_CALLS if parallel else 1))

    def before_text(self) -> str | None:
        """Return the expression of the grammar for what precedes a text in place of calls; None if it has no tokens."""
        channels = self.syntax.channels
        if channels is None:
            return ""
        has_tokens = all(mark in self.control_ids for mark in (*channels.starts, *channels.contents))
        return f"thought? {self._spelled(channels.closing)}" if has_tokens else None

    def free_grammar(self, tools: Sequence[Mapping[str, Any]], *, parallel: bool) -> str:
        """Build a grammar for the calls within an answer that may also have text. Each begins with one of `openings`.

        parallel: allow several calls within one frame.
        """
        channels = self.syntax.channels
        rules = self.syntax.grammar(tools, self._spelled, MAX_FREE_CALLS if parallel else 1)
        header = f"{channels.starts[0]}assistant" if channels is not None else ""
        if header and all(text.startswith(header) for text in self.openings(tools)):
            # The text of an answer has a separate header for each call.
            rules[0] = f"start: {self._spelled(header)} call"
        return "\n".join(rules)

    def openings(self, tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Return the text with which a call of each of `tools` begins, up to its arguments."""
        names = (tool["name"] for tool in tools)
        return tuple(self._common(ToolCall(name, "{}"), ToolCall(name, '{"a": 1}')) for name in names)

    def _common(self, *calls: ToolCall) -> str:
        """Return the text with which these calls begin alike."""
        one, other = (self.syntax.written([call], str) for call in calls)
        end = next((at for at, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), len(one))
        return one[:end]

    def names_of_marks(self) -> dict[int, bytes]:
        """Return the names of the marks that are control tokens, by id, so that the parsed text can include them."""
        words = self.syntax.words
        return {id_: text.encode() for text, id_ in self.control_ids.items() if text in words}

    def tokens_of_marks(self, encode: Callable[[str], Sequence[int]]) -> dict[int, str]:
        """Return the marks that are one token, by id: a model that knows the format never spells them in a call.

        The format of other models has none, because they may spell its marks.

        encode: encodes a text with control tokens, without adding tokens before or after it.
        """
        encoded = {word: encode(word) for word in self.syntax.words} if self.is_known else {}
        return {ids[0]: word for word, ids in encoded.items() if len(ids) == 1}

    def _spelled(self, text: str) -> str:
        """Write a text for the grammar, in which a control token is an id and not text."""
        marks = [word for word in self.syntax.words if word in self.control_ids]
        if not marks:
            return json.dumps(text) if text else ""
        pieces = re.split(f"({'|'.join(map(re.escape, marks))})", text)
        spelled = (
            f"<[{self.control_ids[piece]}]>" if piece in marks else json.dumps(piece) for piece in pieces if piece
        )
        return " ".join(spelled)


def make_parser(
    syntax: CallSyntax, *, parallel: bool, json_fields: frozenset[str] = frozenset(), only_complete: bool = False
) -> ToolCallParser:
    """Create a parser of one answer in a syntax. json_fields: as in `CallSyntax.reader`."""
    return ToolCallParser(
        syntax.marks, lambda mark: syntax.reader(mark, json_fields), parallel=parallel, only_complete=only_complete
    )


def find_tool_format(
    control_tokens: Mapping[str, int],
    template: str,
    writes: Callable[[], TemplateTools] = lambda: NOTHING,
    name: str | None = None,
) -> ToolFormat:
    """Find the tool format of a model by its control tokens and chat template.

    Return Hermes' format, described by Ebb, if the model's own is unknown. SmolLM2 was trained on it.

    writes: finds the parts that the template writes. Not asked if the template's own format is unknown or another one.
    name: the format to use instead, a name of `models.chat.call_syntax.registry`.
    """
    own = recognized(template, control_tokens)
    used = name or own or FALLBACK
    found = writes() if own == used else NOTHING
    is_known = used in (name, own)
    is_foreign = not is_known and "tools" in template
    return ToolFormat(used, syntax_named(used), dict(control_tokens), found, is_known=is_known, is_foreign=is_foreign)
