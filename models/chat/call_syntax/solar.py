"""Syntax of Solar Open: control tokens around id, name and arguments of each call."""

import re

from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings, literal
from models.chat.call_syntax.interface import CallIds, PromptTexts, instructions
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.harmony_thinking import SOLAR as CHANNELS
from models.chat.harmony_thinking import SOLAR_CALLS, SOLAR_START
from models.chat.tool_call_parser import CallMarks

ALL, END_OF_ALL = SOLAR_CALLS, "<|calls|>"
ONE, NAME, ARGUMENTS, END_OF_ONE = (
    "<|tool_call:begin|>",
    "<|tool_call:name|>",
    "<|tool_call:args|>",
    "<|tool_call:end|>",
)
TURN, END_OF_TURN = f"{SOLAR_START}assistant", "<|end|>"

_ID, _NAME = "[a-zA-Z0-9]*", r"([^\s{}<>|]+)"
_HEAD = CallHeader(
    re.compile(rf"\s*{_ID}\s*{re.escape(NAME)}\s*{_NAME}\s*{re.escape(ARGUMENTS)}\s*"),
    re.compile(beginnings(r"\s*", _ID, r"\s*", *literal(NAME), r"\s*", _NAME, r"\s*", *literal(ARGUMENTS), r"\s*")),
)

SOLAR = JsonCalls(
    marks=CallMarks(
        starts=(ONE,), ends=(END_OF_ONE, END_OF_ALL), frames=(f"{END_OF_TURN}{TURN}{ALL}", f"{TURN}{ALL}", ALL)
    ),
    texts=PromptTexts(
        instructions(
            f"To call some, answer with\n{ALL}{ONE}<id>{NAME}<function-name>{ARGUMENTS}<args-json-object>{END_OF_ONE}"
            f"{END_OF_ALL}\nwith one part from {ONE} to {END_OF_ONE} per call. An id has 10 letters or digits."
        ),
        "tool",
        "{result}",
    ),
    before=f"{ONE}<ID>{NAME}<NAME>{ARGUMENTS}",
    after=END_OF_ONE,
    opening=ALL,
    closing=END_OF_ALL,
    channels=CHANNELS,
    words=(END_OF_ALL, ONE, NAME, ARGUMENTS, END_OF_ONE, SOLAR_START, *CHANNELS.contents, END_OF_TURN),
    call_words=(ONE,),
    ids=CallIds("{number:010}", re.compile(rf"{re.escape(ONE)}([a-zA-Z0-9]+){re.escape(NAME)}")),
    make_reader=lambda _: HeadedReader(_HEAD),
)
