"""Syntax of gpt-oss: a call is a message to a function, and the last message of an answer."""

import re

from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings, literal
from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.harmony_thinking import CHANNEL, MESSAGE, START
from models.chat.harmony_thinking import HARMONY as HARMONY_CHANNELS
from models.chat.tool_call_parser import CallMarks

END = "<|end|>"
TURN = f"{START}assistant"
_BEFORE = f" to=functions.<NAME>{CHANNEL}commentary json{MESSAGE}"
_NAME = r"([^\s<{]+)"
_AFTER_NAME = f"{CHANNEL}commentary json{MESSAGE}"
_HEAD = CallHeader(
    re.compile(rf"{_NAME}{re.escape(_AFTER_NAME)}\s*"),
    re.compile(beginnings(_NAME, *literal(_AFTER_NAME), r"\s*")),
)

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call one, send its arguments as JSON to functions.NAME in the commentary channel."""


HARMONY = JsonCalls(
    marks=CallMarks(starts=(f"{TURN} to=functions.",)),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before=_BEFORE,
    after="",
    opening=TURN,
    between=TURN,
    is_single=True,
    prompted=TURN,
    channels=HARMONY_CHANNELS,
    words=(START, CHANNEL, MESSAGE, END),
    make_reader=lambda _: HeadedReader(_HEAD),
)
