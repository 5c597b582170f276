"""Role of tools in a stored message."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from app.domain.namespaces import name_within
from models.chat.call_syntax.pangu import PANGU
from models.chat.call_syntax.registry import FALLBACK, syntax_named
from models.chat.tool_call_parser import ToolCallParser
from models.chat.tool_calls import Parsed, ToolCall, parsed_of
from models.chat.tool_format import make_parser


@dataclass(frozen=True, slots=True)
class MayCall:
    """An answer whose text may contain tool calls, as the model wrote them.

    format: name of the syntax of the calls (`models.chat.call_syntax.registry`).
    parallel: as in `app.prompts.tool_offer.ToolOffer`.
    custom: names of the custom tools, sorted.
    json_fields: as in `CallSyntax.reader`, sorted.
    namespaces: the tools in namespaces, each as its namespace, a space and its name there; sorted.
    """

    format: str
    parallel: bool
    custom: tuple[str, ...] = ()
    json_fields: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    def parser(self) -> ToolCallParser:
        """Make a parser for the text of the answer."""
        return make_parser(syntax_named(self.format), parallel=self.parallel, json_fields=frozenset(self.json_fields))

    @property
    def names_apart(self) -> Mapping[str, tuple[str, str]]:
        """The namespace of each tool that is in one and its name there, by the name that the answer calls it."""
        apart = (each.split(" ") for each in self.namespaces)
        return {name_within(namespace, name): (namespace, name) for namespace, name in apart}


@dataclass(frozen=True, slots=True)
class IsCall:
    """A call that a client sent. The message has no text.

    arguments: a JSON object, or any other text.
    is_custom: the tool is a custom one, whose input `models.chat.custom_input` finds in the arguments.
    namespace: of the tool; None if it is in none.
    """

    call_id: str
    name: str
    arguments: str
    is_custom: bool = False
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class IsResult:
    """The result of a call, which is the message's text. is_custom: as in `IsCall`."""

    call_id: str
    is_custom: bool = False


ToolUse = MayCall | IsCall | IsResult

_KINDS: dict[str, type[ToolUse]] = {"may_call": MayCall, "call": IsCall, "result": IsResult}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def tool_use_json(tool_use: ToolUse) -> dict[str, Any]:
    """Return the fields of `tool_use` and its kind, as in an export."""
    return {"kind": _NAMES[type(tool_use)], **asdict(tool_use)}


def tool_use_of(fields: Mapping[str, Any] | None) -> ToolUse | None:
    """Parse the output of `tool_use_json`."""
    if fields is None:
        return None
    return _made(fields["kind"], {name: value for name, value in fields.items() if name != "kind"})


def dump_tool_use(tool_use: ToolUse | None) -> str | None:
    """Serialize a tool use for the store."""
    return None if tool_use is None else json.dumps([_NAMES[type(tool_use)], asdict(tool_use)], ensure_ascii=False)


def load_tool_use(stored: str | None) -> ToolUse | None:
    """Parse the output of `dump_tool_use`."""
    if stored is None:
        return None
    return _made(*json.loads(stored))


def _made(kind: str, fields: Mapping[str, Any]) -> ToolUse:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    marks = values.pop("start", None), values.pop("end", None)
    if kind == _NAMES[MayCall] and values.get("format") is None:
        values["format"] = _format_between(*marks)
    return _KINDS[kind](**values)


def _format_between(start: str | None, end: str | None) -> str:
    """Return the name of the format with these marks. Earlier versions stored the marks instead of the name."""
    return "openpangu" if (start, end) == PANGU.marks.starts + PANGU.marks.ends else FALLBACK


def read_calls(text: str, tool_use: ToolUse | None, *, has_ended: bool, is_cut: bool) -> Parsed:
    """Split a message into its texts and its calls.

    has_ended: False leaves out an end that may still become a text or a call.
    is_cut: a limit or a client ended the answer, and not the model.
    """
    match tool_use:
        case MayCall():
            parser = tool_use.parser()
            events = parser.push(text)
            return parsed_of([*events, *parser.finish("" if is_cut else None)] if has_ended else events)
        case IsCall(name=name, arguments=arguments, namespace=namespace):
            return Parsed((ToolCall(name_within(namespace, name), arguments),))
    return Parsed((text,) if text else ())
