"""Hermes' syntax: Qwen2.5 and 3, Granite 4, SmolLM, and all models whose own syntax is unknown."""

import re

from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

INSTRUCTIONS = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""

HERMES = JsonCalls(
    marks=CallMarks(starts=("<tool_call>",), ends=("</tool_call>",)),
    texts=PromptTexts(INSTRUCTIONS, "user", "<tool_response>\n{result}\n</tool_response>", on_own_line=True),
    before='<tool_call>\n{"name":"<NAME>","arguments":',
    after="}\n</tool_call>",
    between="\n",
    spaced=False,
    words=("<tool_call>", "</tool_call>"),
    call_words=("<tool_call>", "{", '"name"'),
)

_QUOTED = re.compile(r"""\\?["'](name|arguments)\\?["']""")
_OTHERS = ("<arg_key>", "<invoke", "<function=")


def writes_hermes(template: str) -> bool:
    """Return whether a chat template writes calls in this syntax."""
    if "<tool_call>" not in template or any(mark in template for mark in _OTHERS):
        return False
    return "tool_call.arguments" in template or {"name", "arguments"} <= set(_QUOTED.findall(template))
