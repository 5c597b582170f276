"""Syntax of Apriel: a JSON list between marks that are words. Apriel 1.5 describes both marks in the singular too."""

from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "<tool_calls>", "</tool_calls>"

APRIEL = JsonCalls(
    marks=CallMarks(starts=(START, "<tool_call>"), ends=(END, "</tool_call>")),
    texts=PromptTexts(
        instructions(
            'To call some, answer with a JSON list of {{"name": <function-name>, "arguments": <args-json-object>}} '
            f"between {START} and {END}."
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
    words=(START, END, "<tool_call>", "</tool_call>"),
    call_words=(START, "["),
)
