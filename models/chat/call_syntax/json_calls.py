"""Syntax of calls whose arguments are a JSON object: the text around the arguments is data."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.chat.call_reader import JsonCallReader
from models.chat.call_syntax.interface import NUMBERED, CallIds, PromptTexts
from models.chat.call_syntax.rules import NO_ARGUMENTS, arguments_text, comment, json_rule, start_rules
from models.chat.harmony_thinking import Channels
from models.chat.tool_call_parser import CallMarks, CallReader
from models.chat.tool_calls import ToolCall

_PLACE = re.compile("<NAME>|<ID>|<NUMBER>")
_NUMBERED = re.compile("(<ID>|<NUMBER>)")
_NUMBER_RULE = " /[0-9]{1,4}/ "
_IN_JSON = re.compile(r'("(?:[^"\\]|\\.)*"|[{}:,] ?)')
"""Parts of JSON that a grammar may have to tell from those of another object that begins alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCalls:
    """A `CallSyntax`. In `before` and `after`, <NAME> stands for the name, <ID> for an id of letters and digits, and
    <NUMBER> for the number of the call.

    opening, closing: text around all calls.
    between: text between two calls.
    before, after: text around the arguments of one call.
    spaced: calls that a grammar forces have a space after commas and colons.
    is_single: an answer has one call.
    prompted: text at the beginning of `opening` with which a prompt ends.
    channels: as in `CallSyntax`.
    words, ids, call_words: as in `CallSyntax`.
    make_reader: creates a reader of the text after a mark.
    """

    marks: CallMarks
    texts: PromptTexts
    before: str
    after: str
    opening: str = ""
    closing: str = ""
    between: str = ""
    spaced: bool = True
    is_single: bool = False
    prompted: str = ""
    channels: Channels | None = None
    words: tuple[str, ...] = ()
    ids: CallIds = NUMBERED
    call_words: tuple[str, ...] = ()
    make_reader: Callable[[str], CallReader] = lambda _: JsonCallReader()

    def json_fields(self, tools: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """See `CallSyntax`. Texts have quotes."""
        del tools
        return frozenset()

    def reader(self, mark: str, json_fields: frozenset[str]) -> CallReader:
        """See `CallSyntax`. The values of all parameters are JSON."""
        del json_fields
        return self.make_reader(mark)

    def written(self, calls: Sequence[ToolCall], clean: Callable[[str], str]) -> str:
        """See `CallSyntax`."""
        each = (
            self._filled(self.before, call, clean, number)
            + clean(arguments_text(call))
            + self._filled(self.after, call, clean, number)
            for number, call in enumerate(calls)
        )
        return self.opening + self.between.join(each) + self.closing

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`."""
        opening, count = self.opening.removeprefix(self.prompted), 1 if self.is_single else most
        rules = start_rules(
            opening=opening,
            between=self.between,
            closing=self.closing,
            spell=spell,
            most=count,
            count=len(tools),
            channels=self.channels,
        )
        for index, tool in enumerate(tools):
            parts = [self._spelled(self.before, tool, spell), f"arguments_{index}"]
            parts.append(self._spelled(self.after, tool, spell))
            rules += [f"call_{index}: {' '.join(filter(None, parts))}", comment(tool)]
            schema = tool.get("parameters") or NO_ARGUMENTS
            rules.append(f"arguments_{index}: {json_rule(schema, tool, spaced=self.spaced)}")
        return rules

    def _filled(self, text: str, call: ToolCall, clean: Callable[[str], str], number: int) -> str:
        name, id_ = clean(self._name(call.name)), self.ids.of(call.name, number)
        values = {"<NAME>": name, "<ID>": id_, "<NUMBER>": str(number)}
        return _PLACE.sub(lambda place: values[place[0]], text)

    def _spelled(self, text: str, tool: Mapping[str, Any], spell: Callable[[str], str]) -> str:
        pieces, length = _NUMBERED.split(text), len(self.ids.of("", 0))
        patterns = {"<ID>": f" /[a-zA-Z0-9]{{{length}}}/ ", "<NUMBER>": _NUMBER_RULE}
        named = (
            patterns.get(piece) or self._in_parts(piece.replace("<NAME>", self._name(tool["name"])), spell)
            for piece in pieces
        )
        return "".join(named)

    def _in_parts(self, text: str, spell: Callable[[str], str]) -> str:
        """Spell a text in the parts of JSON, if a call and the answer in its place may begin alike."""
        parts = _IN_JSON.split(text) if self.marks.bare else [text]
        return " ".join(filter(None, map(spell, parts)))

    def _name(self, name: str) -> str:
        """Return the name as it stands in the text: escaped where it is between quotes."""
        return json.dumps(name, ensure_ascii=False)[1:-1] if '"<NAME>"' in self.before else name
