"""DeepSeek's syntaxes: V3 and R1 write the arguments in a fence, V3.1 right after the name."""

import re
from dataclasses import replace

from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings, literal
from models.chat.call_syntax.interface import PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.tool_call_parser import CallMarks

ALL, END_OF_ALL = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
ONE, END_OF_ONE = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
NAME = "<｜tool▁sep｜>"

INSTRUCTIONS = f"""## Tools

You have access to these functions:
{{tools}}

To call some, answer with
{ALL}{ONE}<function-name>{NAME}<args-json-object>{END_OF_ONE}{END_OF_ALL}
with one part from {ONE} to {END_OF_ONE} per call."""
_FENCED = INSTRUCTIONS.replace(f"{ONE}<function-name>{NAME}", f"{ONE}function{NAME}<function-name>\n```json\n").replace(
    f"<args-json-object>{END_OF_ONE}", f"<args-json-object>\n```{END_OF_ONE}"
)

_NAME = r"([^\s{}<>`｜]+)"
_BARE_HEAD = CallHeader(
    re.compile(rf"\s*{_NAME}\s*{NAME}\s*"),
    re.compile(beginnings(r"\s*", _NAME, r"\s*", *literal(NAME), r"\s*")),
)
_FENCE = ("\n", r"\s*", *literal("```"), beginnings(*literal("json")), r"\s*")
_FENCED_HEAD = CallHeader(
    re.compile(rf"\s*function\s*{NAME}\s*{_NAME}\n\s*(?:```(?:json)?\s*)?"),
    re.compile(beginnings(r"\s*", *literal("function"), r"\s*", *literal(NAME), r"\s*", _NAME, *_FENCE)),
)

DEEPSEEK_V31 = JsonCalls(
    marks=CallMarks(starts=(ONE,), ends=("```", END_OF_ONE, END_OF_ALL), frames=(ALL,)),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before=f"{ONE}<NAME>{NAME}",
    after=END_OF_ONE,
    opening=ALL,
    closing=END_OF_ALL,
    words=(ALL, END_OF_ALL, ONE, END_OF_ONE, NAME),
    call_words=(ALL,),
    make_reader=lambda _: HeadedReader(_BARE_HEAD),
)
DEEPSEEK_V3 = replace(
    DEEPSEEK_V31,
    texts=PromptTexts(_FENCED, "tool", "{result}"),
    before=f"{ONE}function{NAME}<NAME>\n```json\n",
    after=f"\n```{END_OF_ONE}",
    between="\n",
    make_reader=lambda _: HeadedReader(_FENCED_HEAD),
)
