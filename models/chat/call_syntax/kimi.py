"""Syntax of Kimi K2: a section of calls, whose ids contain the name and count through the conversation."""

import re

from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings, literal
from models.chat.call_syntax.interface import CallIds, PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

ALL, END_OF_ALL = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
ONE, ARGUMENTS, END_OF_ONE = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_SINGULAR = tuple(mark.replace("calls", "call") for mark in (ALL, END_OF_ALL))
"""Marks that models sometimes write instead."""

INSTRUCTIONS = f"""# Tools

You may call functions. Their signatures:
{{tools}}

To call some, answer with
{ALL}{ONE}functions.<function-name>:<number>{ARGUMENTS}<args-json-object>{END_OF_ONE}{END_OF_ALL}
with one part from {ONE} to {END_OF_ONE} per call. Calls are numbered from 0."""

_NAME = r"[^\s:{}<|]+"
_HEAD = CallHeader(
    re.compile(rf"\s*(?:functions\.)?({_NAME})(?::[0-9]+)?\s*{re.escape(ARGUMENTS)}\s*"),
    re.compile(beginnings(r"\s*", _NAME, "(?::[0-9]*)?", r"\s*", *literal(ARGUMENTS), r"\s*")),
)

KIMI = JsonCalls(
    marks=CallMarks(starts=(ONE,), ends=(END_OF_ONE, END_OF_ALL, _SINGULAR[1]), frames=(ALL, _SINGULAR[0])),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before=f"{ONE}functions.<NAME>:<NUMBER>{ARGUMENTS}",
    after=END_OF_ONE,
    opening=ALL,
    closing=END_OF_ALL,
    words=(ALL, END_OF_ALL, ONE, ARGUMENTS, END_OF_ONE),
    call_words=(ALL,),
    ids=CallIds("functions.{name}:{number}", re.compile(rf"(functions\.[^\s:<|]+:[0-9]+)\s*{re.escape(ARGUMENTS)}")),
    make_reader=lambda _: HeadedReader(_HEAD),
)
