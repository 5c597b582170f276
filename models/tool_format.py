"""Tool formats of model families: how a prompt presents tools and results, and how an answer calls tools."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.tool_call_parser import ToolCallParser
from models.tool_calls import ToolCall, read_object

MAX_CALLS = 8
"""Maximum number of calls in an answer that must call a tool, because a weak model may never stop calling."""

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
    """The tool format of one model family.

    start, end: marks around calls, including the white space that belongs to them.
    is_list: one pair of marks holds a list of all calls; False means that each call has its own pair.
    instructions: text of the system message, with a placeholder for the tools.
    result_role: role of the message with a call's result.
    result: text of that message, with a placeholder for the result.
    control_ids: ids of the model's control tokens by text.
    in_template: the model's own chat template writes all of the above.
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
        """Marks around calls, without white space, as `parser` looks for them."""
        return self.start.strip(), self.end.strip()

    def parser(self, *, parallel: bool = True) -> ToolCallParser:
        """Create a parser for one answer.

        parallel: return all calls; False returns only the first.
        """
        return ToolCallParser(*self.marks, parallel=parallel)

    def system(self, tools: str) -> str:
        """Format the system message's text about `tools`, a JSON list."""
        return self.instructions.format(tools="\n".join(map(_json, json.loads(tools))))

    def calls(self, calls: Sequence[ToolCall], clean: Callable[[str], str] = str) -> str:
        """Format an answer's calls as the model writes them. Arguments that are not a JSON object become a string.

        clean: applied to everything except the marks.
        """
        written = [f'{{"name":{_json(call.name)},"arguments":{_arguments(call)}}}' for call in calls]
        if self.is_list:
            return f"{self.start}{clean('[' + ','.join(written) + ']')}{self.end}"
        return "\n".join(f"{self.start}{clean(each)}{self.end}" for each in written)

    def grammar(self, tools: Sequence[Mapping[str, Any]], *, parallel: bool) -> str:
        """Build a grammar, in llguidance's dialect of Lark, for an answer that calls some of `tools` and has no text.

        tools: the functions, in OpenAI's format.
        parallel: allow up to MAX_CALLS calls; False allows one.
        """
        rules = [self._start_rule(MAX_CALLS - 1 if parallel else 0)]
        rules.append("call: " + " | ".join(f"call_{index}" for index in range(len(tools))))
        for index, tool in enumerate(tools):
            schema = tool.get("parameters") or NO_ARGUMENTS
            # Without `strict`, keywords that cannot be enforced are annotations, as in other servers.
            options = {"whitespace_flexible": False, "lenient": tool.get("strict") is not True}
            compact = {**schema, "x-guidance": options}
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
        """Write a mark for the grammar, in which a control token is an id and not text."""
        id_ = self.control_ids.get(text.strip())
        if id_ is None:
            return json.dumps(text)
        before, _, after = text.partition(text.strip())
        spaces = [json.dumps(space) if space else "" for space in (before, after)]
        return f"{spaces[0]} <[{id_}]> {spaces[1]}".strip()

    def names_of_marks(self) -> dict[int, bytes]:
        """Return the names of the marks that are control tokens, by id, so that the parsed text can include them."""
        marks = self.marks
        return {id_: text.encode() for text, id_ in self.control_ids.items() if text in marks}


def find_tool_format(control_tokens: Mapping[str, int], template: str) -> ToolFormat:
    """Find the tool format of a model by its control tokens and chat template.

    Return openPangu's format if the model has its marks. Otherwise return Hermes' format, which most models know and
    SmolLM2 was trained on.
    """
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


def _arguments(call: ToolCall) -> str:
    if not call.arguments:
        return "{}"
    return call.arguments if read_object(call.arguments) is not None else _json(call.arguments)
