"""Syntax of Nemotron Nano 2: a JSON list between marks that are words."""

from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "<TOOLCALL>", "</TOOLCALL>"

NEMOTRON2 = JsonCalls(
    marks=CallMarks(starts=(START,), ends=(END,)),
    texts=PromptTexts(
        instructions(
            f'To call some, answer with {START}[{{{{"name": <function-name>, "arguments": <args-json-object>}}}}]{END}.'
        ),
        "tool",
        "{result}",
        on_own_line=True,
    ),
    before='{"name": "<NAME>", "arguments": ',
    after="}",
    opening=f"{START}[",
    closing=f"]{END}",
    between=", ",
    words=(START, END),
    call_words=(START, "[", "{"),
)
