"""Syntax of Functionary 3.1: an element with the name, around the arguments as JSON."""

import re

from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

START, END = "<function=", "</function>"

_NAME = r"([^\s<>{}]+)"
_HEAD = CallHeader(re.compile(rf"{_NAME}>\s*"), re.compile(beginnings(_NAME, ">", r"\s*")))

FUNCTIONARY = JsonCalls(
    marks=CallMarks(starts=(START,), ends=(END,)),
    texts=PromptTexts(
        instructions(f"To call one, answer with {START}<function-name>><args-json-object>{END}."), "ipython", "{result}"
    ),
    before=f"{START}<NAME>>",
    after=END,
    words=(START, END),
    make_reader=lambda _: HeadedReader(_HEAD),
)
