"""Syntax of Granite 3: a JSON list after a mark, without a mark at its end. Granite 4 writes Hermes' syntax."""

from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START = "<|tool_call|>"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call some, answer only with <|tool_call|> and a JSON list of \
{{"name": <function-name>, "arguments": <args-json-object>}}."""

GRANITE = JsonCalls(
    marks=CallMarks(starts=(START, "<tool_call>"), ends=("</tool_call>",)),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before='{"name": "<NAME>", "arguments": ',
    after="}",
    opening=f"{START}[",
    closing="]",
    between=", ",
    words=(START, "<tool_call>", "</tool_call>"),
)
