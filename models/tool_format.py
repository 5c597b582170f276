"""How the models of a family are told of tools, call them, and are told what came of it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.tool_calls import ToolCall, ToolCallParser

MOST_CALLS = 8
"""In one answer that must call: a weak model does not know where to end."""

NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}

HERMES_INSTRUCTIONS = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""

PANGU_INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call some, answer with a JSON list of {{"name": <function-name>, "arguments": <args-json-object>}} between \
[unused11] and [unused12]."""


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """One family's way.

    start, end: the marks around calls, with the space that belongs to them. is_list: whether one pair of marks holds a
    list of all calls, or each call has its own. instructions: of the system message, with a place for the tools.
    result_role: who says what came of a call; result: how, with a place for it. in_template: whether the model's own
    template does all this writing.
    """

    start: str
    end: str
    is_list: bool
    instructions: str
    result_role: str
    result: str
    control_ids: Mapping[str, int]
    in_template: bool = False

    @property
    def marks(self) -> tuple[str, str]:
        """What stands around calls in an answer that is read."""
        return self.start.strip(), self.end.strip()

    def parser(self, *, parallel: bool = True) -> ToolCallParser:
        """To read one answer with. parallel: whether more than its first call counts."""
        return ToolCallParser(*self.marks, parallel=parallel)

    def system(self, tools: str) -> str:
        """What the system message says of tools, given as a JSON list."""
        return self.instructions.format(tools="\n".join(map(_json, json.loads(tools))))

    def calls(self, calls: Sequence[ToolCall], clean: Callable[[str], str] = str) -> str:
        """An answer's calls as the model writes them. clean: what is done to all but the marks."""
        written = [f'{{"name":{_json(call.name)},"arguments":{call.arguments}}}' for call in calls]
        if self.is_list:
            return f"{self.start}{clean('[' + ','.join(written) + ']')}{self.end}"
        return "\n".join(f"{self.start}{clean(each)}{self.end}" for each in written)

    def grammar(self, tools: Sequence[Mapping[str, Any]], *, parallel: bool) -> str:
        """Lark, in llguidance's dialect: an answer that calls some of these, and says nothing else. tools: the
        functions, as OpenAI's clients describe them."""
        rules = [self._start_rule(MOST_CALLS - 1 if parallel else 0)]
        rules.append("call: " + " | ".join(f"call_{index}" for index in range(len(tools))))
        for index, tool in enumerate(tools):
            schema = tool.get("parameters") or NO_ARGUMENTS
            compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
            head = json.dumps(f'{{"name":{_json(tool["name"])},"arguments":')
            rules += [f'call_{index}: {head} arguments_{index} "}}"', f"arguments_{index}: %json {_json(compact)}"]
        return "\n".join(rules)

    def _start_rule(self, more: int) -> str:
        start, end = self._mark(self.start), self._mark(self.end)
        if self.is_list:
            others = f' ("," call){{0,{more}}}' if more else ""
            return f'start: {start} "[" call{others} "]" {end}'
        others = f' ("\\n" {start} call {end}){{0,{more}}}' if more else ""
        return f"start: {start} call {end}{others}"

    def _mark(self, text: str) -> str:
        """Control tokens are no text to the grammar either."""
        id_ = self.control_ids.get(text.strip())
        if id_ is None:
            return json.dumps(text)
        before, _, after = text.partition(text.strip())
        spaces = [json.dumps(space) if space else "" for space in (before, after)]
        return f"{spaces[0]} <[{id_}]> {spaces[1]}".strip()

    def names_of_marks(self) -> dict[int, bytes]:
        """The names of those marks that are control tokens, by their ids: what is read shows them."""
        marks = self.marks
        return {id_: text.encode() for text, id_ in self.control_ids.items() if text in marks}


def find_tool_format(control_tokens: Mapping[str, int], template: str) -> ToolFormat:
    """That of a model with these control tokens and this template: openPangu's, or else that of Hermes, which most
    models know and SmolLM2 was taught."""
    if "[unused11]" in control_tokens and "[unused12]" in control_tokens:
        return ToolFormat(
            "[unused11]", "[unused12]", True, PANGU_INSTRUCTIONS, "tool", "{result}", dict(control_tokens)
        )
    return ToolFormat(
        "<tool_call>\n",
        "\n</tool_call>",
        False,
        HERMES_INSTRUCTIONS,
        "user",
        "<tool_response>\n{result}\n</tool_response>",
        dict(control_tokens),
        in_template="<tool_call>" in template and "tool_call.arguments" in template,
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
