"""Syntax of Muse Glimmer: elements in a message to the function."""

import re
from dataclasses import replace

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import named_elements
from models.chat.call_syntax.headed_reader import beginnings, literal
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.harmony_thinking import MESSAGE, START
from models.chat.harmony_thinking import MUSE as CHANNELS
from models.chat.tool_call_parser import CallMarks

TURN, END = f"{START}assistant", "<|eom|>"
ALL, END_OF_ALL = "<atem:function_calls>", "</atem:function_calls>"
INVOKE = '<atem:invoke name="'

_ELEMENTS = named_elements("atem:invoke", "atem:parameter")
_NAME = r'[^"<>\n]*'

MUSE = ElementCalls(
    marks=CallMarks(starts=(f"{TURN} to=",), ends=(END_OF_ALL, END)),
    texts=PromptTexts(
        instructions(
            f'To call one, send {ALL}{INVOKE}NAME"><atem:parameter name="PARAMETER">value</atem:parameter>'
            f"</atem:invoke>{END_OF_ALL} to it."
        ),
        "tool",
        "{result}",
    ),
    elements=replace(
        _ELEMENTS,
        name_start=f"{TURN} to=",
        name=re.compile(rf'[^\s<]+{re.escape(MESSAGE)}\s*{ALL}\s*{INVOKE}({_NAME})">'),
        begun_name=re.compile(
            beginnings("[^\\s<]+", *literal(MESSAGE), r"\s*", *literal(ALL), r"\s*", *literal(INVOKE), _NAME, '"')
        ),
    ),
    before=f' to=<NAME>{MESSAGE}{ALL}\n{INVOKE}<NAME>">\n',
    after=f"</atem:invoke>\n{END_OF_ALL}",
    before_value='<atem:parameter name="<NAME>">',
    after_value="</atem:parameter>\n",
    opening=TURN,
    between=f"{END}{TURN}",
    prompted=TURN,
    channels=CHANNELS,
    words=(START, MESSAGE, END),
)
