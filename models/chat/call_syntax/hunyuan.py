"""Syntax of Hunyuan 3: an element for each key and each value, with a word in each mark."""

import re
from typing import Final

from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.element_reader import Elements
from models.chat.call_syntax.interface import PromptTexts, instructions
from models.chat.tool_call_parser import CallMarks

_WORDS: Final = ("tool_calls", "tool_call", "arg_key", "arg_value")
ALL, START, KEY, VALUE = (f"<{word}:opensource>" for word in _WORDS)
END_OF_ALL, END, END_OF_KEY, END_OF_VALUE = (f"</{word}:opensource>" for word in _WORDS)
SEPARATOR = "<tool_sep:opensource>"

HUNYUAN3 = ElementCalls(
    marks=CallMarks(starts=(START,), ends=(END_OF_ALL,), frames=(ALL,)),
    texts=PromptTexts(
        instructions(
            f"To call some, answer with\n{ALL}\n{START}<function-name>{SEPARATOR}\n{KEY}<argument>{END_OF_KEY}\n"
            f"{VALUE}<value>{END_OF_VALUE}\n{END}\n{END_OF_ALL}\nwith one part from {START} to {END} per call."
        ),
        "tool",
        "{result}",
    ),
    elements=Elements(
        name_start="",
        name=re.compile(rf"([^\s<>{{}}\"]+)\s*{SEPARATOR}"),
        begun_name=re.compile(r"[^\s<>{}\"]*\s*(?:<[\w:]*)?"),
        field_start=KEY,
        field=re.compile(rf"{KEY}([^<]*){END_OF_KEY}\s*{VALUE}"),
        field_end=END_OF_VALUE,
        end=END,
    ),
    before=f"{START}<NAME>{SEPARATOR}\n",
    after=f"{END}\n",
    before_value=f"{KEY}<NAME>{END_OF_KEY}\n{VALUE}",
    after_value=f"{END_OF_VALUE}\n",
    opening=f"{ALL}\n",
    closing=END_OF_ALL,
    words=(ALL, END_OF_ALL, START, END, KEY, END_OF_KEY, VALUE, END_OF_VALUE, SEPARATOR),
    call_words=(ALL,),
)
