"""Syntax of openPangu: a JSON list between two control tokens."""

from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "[unused11]", "[unused12]"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call some, answer with a JSON list of {{"name": <function-name>, "arguments": <args-json-object>}} between \
[unused11] and [unused12]."""

PANGU = JsonCalls(
    marks=CallMarks(starts=(START,), ends=(END,)),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before='{"name":"<NAME>","arguments":',
    after="}",
    opening=f"{START}[",
    closing=f"]{END}",
    between=",",
    spaced=False,
    words=(START, END),
)
