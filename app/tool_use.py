"""What a stored message has to do with tools."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from models.tool_calls import Parsed, ToolCall, ToolCallParser


@dataclass(frozen=True, slots=True)
class MayCall:
    """An answer in whose text calls may stand, as the model wrote them. start, end: the marks around them. parallel: as
    in `app.tool_offer.ToolOffer`."""

    start: str
    end: str
    parallel: bool

    def parser(self) -> ToolCallParser:
        """To read the answer with."""
        return ToolCallParser(self.start, self.end, parallel=self.parallel)


@dataclass(frozen=True, slots=True)
class IsCall:
    """A call that a client told of; the message has no text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class IsResult:
    """What came of a call, which is the message's text."""

    call_id: str


ToolUse = MayCall | IsCall | IsResult

_KINDS: dict[str, type[ToolUse]] = {"may_call": MayCall, "call": IsCall, "result": IsResult}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def tool_use_json(tool_use: ToolUse) -> dict[str, Any]:
    """Return the fields of `tool_use` and its kind, as an export holds them."""
    return {"kind": _NAMES[type(tool_use)], **asdict(tool_use)}


def tool_use_of(fields: Mapping[str, Any] | None) -> ToolUse | None:
    """Return the tool use of which `tool_use_json` made `fields`."""
    if fields is None:
        return None
    return _KINDS[fields["kind"]](**{name: value for name, value in fields.items() if name != "kind"})


def dump_tool_use(tool_use: ToolUse | None) -> str | None:
    """As JSON, for the store."""
    return None if tool_use is None else json.dumps([_NAMES[type(tool_use)], asdict(tool_use)], ensure_ascii=False)


def load_tool_use(stored: str | None) -> ToolUse | None:
    """The same again."""
    if stored is None:
        return None
    name, fields = json.loads(stored)
    return _KINDS[name](**fields)


def read_calls(text: str, tool_use: ToolUse | None, *, has_ended: bool) -> Parsed:
    """A message's text apart from its calls. has_ended: what may still become a call is text then."""
    match tool_use:
        case MayCall():
            parser = tool_use.parser()
            return parser.whole(text) if has_ended else parser.push(text)
        case IsCall(name=name, arguments=arguments):
            return Parsed("", (ToolCall(name, arguments),))
    return Parsed(text)
