"""Mistral's syntaxes: a JSON list up to version 7 of its tokenizers, name and arguments from version 11 on."""

import re
from dataclasses import replace

from models.call_reader import JsonCallReader
from models.call_syntax.headed_reader import Head, HeadedReader, beginnings, literal
from models.call_syntax.interface import NUMBERED, CallIds, PromptTexts
from models.call_syntax.json_calls import JsonCalls
from models.tool_call_parser import CallMarks, CallReader
from models.tool_calls import AnswerEvent

START = "[TOOL_CALLS]"

INSTRUCTIONS = """# Tools

You may call functions. Their signatures:
{tools}

To call some, answer with [TOOL_CALLS] and a JSON list of \
{{"name": <function-name>, "arguments": <args-json-object>}}."""

_NAME = r"([^\s\[\]{}]+)"
_ID = (*literal("[CALL_ID]"), r"\s*", "[a-zA-Z0-9]*", r"\s*")
_ARGS = (*literal("[ARGS]"), r"\s*")
_HEAD = Head(
    re.compile(rf"\s*{_NAME}\s*(?:\[CALL_ID\]\s*[a-zA-Z0-9]*\s*)?(?:\[ARGS\]\s*|(?=\{{))"),
    re.compile(beginnings(r"\s*", _NAME, r"\s*", f"(?:{beginnings(*_ID, *_ARGS)}|{beginnings(*_ARGS)})")),
)
"""The last mark may be missing, as models sometimes leave it out."""


class MistralReader:
    """A `CallReader` of all versions: the first character tells a list from a name."""

    def __init__(self) -> None:
        self.has_called = False
        self.is_broken = False
        self.unread = ""
        self.not_called = ""
        self._reader: CallReader | None = None

    @property
    def is_over(self) -> bool:
        """See `CallReader`."""
        return self._reader is not None and self._reader.is_over

    def push(self, text: str) -> list[AnswerEvent]:
        """See `CallReader`."""
        if self._reader is None:
            self.not_called += text
            if not (begun := self.not_called.lstrip()):
                return []
            text, self.not_called = self.not_called, ""
            self._reader = JsonCallReader() if begun[0] in "[{" else HeadedReader(_HEAD)
        events = self._reader.push(text)
        self.has_called, self.is_broken = self._reader.has_called, self._reader.is_broken
        self.unread, self.not_called = self._reader.unread, self._reader.not_called
        return events

    def finish(self) -> list[AnswerEvent]:
        """See `CallReader`."""
        return [] if self._reader is None else self._reader.finish()


MISTRAL_LIST = JsonCalls(
    CallMarks((START,)),
    PromptTexts(INSTRUCTIONS, "tool", "{result}"),
    before='{"name": "<NAME>", "arguments": ',
    after=', "id": "<ID>"}',
    opening=f"{START}[",
    closing="]",
    between=", ",
    words=(START, "[ARGS]", "[CALL_ID]"),
    call_words=(START,),
    ids=CallIds(written=re.compile(r'"id":\s*"([a-zA-Z0-9]{9})"')),
    make_reader=lambda _: MistralReader(),
)
MISTRAL_NAMED = replace(
    MISTRAL_LIST, before=f"{START}<NAME>[ARGS]", after="", opening="", closing="", between="", ids=NUMBERED
)
MISTRAL_IDENTIFIED = replace(
    MISTRAL_NAMED,
    before=f"{START}<NAME>[CALL_ID]<ID>[ARGS]",
    ids=CallIds(written=re.compile(r"\[CALL_ID\]\s*([a-zA-Z0-9]{9})\[ARGS\]")),
)
