"""Syntaxes of Phi-4-mini: a JSON list between marks, or after the word "functools"."""

from dataclasses import replace

from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "<|tool_call|>", "<|/tool_call|>"
FUNCTOOLS = "functools"

PHI4_MINI = JsonCalls(
    marks=CallMarks(starts=(START, FUNCTOOLS), ends=(END,)),
    texts=PromptTexts("<|tool|>{tools}<|/tool|>", "tool", "{result}", as_list=True),
    before='{"name": "<NAME>", "arguments": ',
    after="}",
    opening=f"{START}[",
    closing=f"]{END}",
    between=", ",
    words=(START, END),
)
PHI4_FUNCTOOLS = replace(PHI4_MINI, opening=f"{FUNCTOOLS}[", closing="]")
