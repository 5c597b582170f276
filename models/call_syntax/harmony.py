"""Syntax of gpt-oss: a call is a message to a function, and the last message of an answer."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from models.call_syntax.headed_reader import Head, HeadedReader, beginnings, literal
from models.call_syntax.interface import PromptTexts
from models.call_syntax.json_calls import JsonCalls
from models.call_syntax.rules import text_rule
from models.harmony_thinking import CHANNEL, MESSAGE, START
from models.tool_call_parser import CallMarks

END = "<|end|>"
TURN = f"{START}assistant"
_BEFORE = f" to=functions.<NAME>{CHANNEL}commentary json{MESSAGE}"
_NAME = r"([^\s<{]+)"
_AFTER_NAME = f"{CHANNEL}commentary json{MESSAGE}"
_HEAD = Head(
    re.compile(rf"{_NAME}{re.escape(_AFTER_NAME)}\s*"),
    re.compile(beginnings(_NAME, *literal(_AFTER_NAME), r"\s*")),
)

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call one, send its arguments as JSON to functions.NAME in the commentary channel."""


class HarmonyCalls(JsonCalls):
    """A `CallSyntax`. A forced call may follow reasoning."""

    def grammar(self, tools: Sequence[Mapping[str, Any]], spell: Callable[[str], str], most: int) -> list[str]:
        """See `CallSyntax`. The prompt ends with the beginning of the turn."""
        thought = f"thought: {spell(f'{CHANNEL}analysis{MESSAGE}')} text"
        rules = JsonCalls.grammar(self, tools, spell, most)[1:]
        return ["start: thought? call", *rules, thought, *text_rule(f"{END}{TURN}", spell)]


HARMONY = HarmonyCalls(
    CallMarks((f"{TURN} to=functions.",)),
    PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before=_BEFORE,
    after="",
    opening=TURN,
    between=TURN,
    is_single=True,
    words=(START, CHANNEL, MESSAGE, END),
    make_reader=lambda _: HeadedReader(_HEAD),
)
