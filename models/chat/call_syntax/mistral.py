"""Mistral's syntaxes: a JSON list up to version 7 of its tokenizers, name and arguments from version 11 on."""

import re
from dataclasses import replace

from models.chat.call_reader import JsonCallReader
from models.chat.call_syntax.headed_reader import CallHeader, HeadedReader, beginnings, literal
from models.chat.call_syntax.interface import NUMBERED, CallIds, PromptTexts
from models.chat.call_syntax.json_calls import JsonCalls
from models.chat.call_syntax.json_or_other_reader import JsonOrOtherReader
from models.chat.tool_call_parser import CallMarks

START = "[TOOL_CALLS]"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call some, answer with [TOOL_CALLS] and a JSON list of \
{{"name": <function-name>, "arguments": <args-json-object>}}."""

_NAME = r"([^\s\[\]{}]+)"
_ID = (*literal("[CALL_ID]"), r"\s*", "[a-zA-Z0-9]*", r"\s*")
_ARGS = (*literal("[ARGS]"), r"\s*")
_HEAD = CallHeader(
    re.compile(rf"\s*{_NAME}\s*(?:\[CALL_ID\]\s*[a-zA-Z0-9]*\s*)?(?:\[ARGS\]\s*|(?=\{{))"),
    re.compile(beginnings(r"\s*", _NAME, r"\s*", f"(?:{beginnings(*_ID, *_ARGS)}|{beginnings(*_ARGS)})")),
)
"""The last mark may be missing, as models sometimes leave it out."""


MISTRAL_LIST = JsonCalls(
    marks=CallMarks(starts=(START,)),
    texts=PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before='{"name": "<NAME>", "arguments": ',
    after=', "id": "<ID>"}',
    opening=f"{START}[",
    closing="]",
    between=", ",
    words=(START, "[ARGS]", "[CALL_ID]"),
    call_words=(START,),
    ids=CallIds(written=re.compile(r'"id":\s*"([a-zA-Z0-9]{9})"')),
    # The first character tells the versions apart.
    make_reader=lambda _: JsonOrOtherReader(JsonCallReader(), HeadedReader(_HEAD), "[{"),
)
MISTRAL_NAMED = replace(
    MISTRAL_LIST, before=f"{START}<NAME>[ARGS]", after="", opening="", closing="", between="", ids=NUMBERED
)
MISTRAL_IDENTIFIED = replace(
    MISTRAL_NAMED,
    before=f"{START}<NAME>[CALL_ID]<ID>[ARGS]",
    ids=CallIds(written=re.compile(r"\[CALL_ID\]\s*([a-zA-Z0-9]{9})\[ARGS\]")),
)
