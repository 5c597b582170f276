"""Answers that both parsers read, with the calls and the text that a reader must see.

The expected result is the input of the format's writer, and never the output of a parser. A text is compared without
the white space around it, because templates put line ends between a text and its calls.

Debatable cases follow these rules:

- Mention: an answer that writes a mark in prose, with ordinary tokens, calls nothing and keeps all of its text. The
  same holds for a whole call in prose. Ebb can only tell it from a call if a mark of the format is a token.
- Mark in a string: a mark within a value belongs to the value, with ordinary tokens as well as with the mark's own one,
  wherever the syntax tells where the value ends. Values that contain the end of their own quotes are left out.
- Cut answer: calls before the cut are right. The call that is cut is absent, or its arguments are not a complete JSON
  object, since a client could make a call that the model never wrote. The text is the one before the calls. The
  whole answer as text is accepted too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.tool_calls.formats import Call, Format
from bench.tool_calls.written import spelled

CALL_IN_PROSE: Final = "call in prose, spelled"
_TEXT: Final = {"type": "string"}

TOOLS: Final[Sequence[Mapping[str, Any]]] = (
    {
        "name": "get_weather",
        "description": "Return the forecast of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": _TEXT, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
    {
        "name": "save_note",
        "description": "Save a note.",
        "parameters": {
            "type": "object",
            "properties": {
                "title": _TEXT,
                "body": _TEXT,
                "tags": {"type": "array", "items": _TEXT},
                "place": {"type": "object"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "done": {"type": "boolean"},
                "muted": {"type": "boolean"},
                "limit": {"type": ["integer", "null"]},
            },
        },
    },
    {"name": "now", "description": "Return the time.", "parameters": {"type": "object", "properties": {}}},
)
"""The tools of every request, in OpenAI's format without its outer object."""


@dataclass(frozen=True, slots=True)
class Case:
    """One answer.

    text: the text before the calls, or the whole answer if there are none. May hold the mark of `spelled`.
    calls: the calls in order.
    cut_after: the answer ends right after this text, which is in the last call; empty for a complete answer.
    """

    name: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    cut_after: str = ""


def cases_of(how: Format) -> list[Case]:
    """List the cases of a format."""
    return [case for case in (*_calls(), *_strings(how), *_texts(how)) if _is_possible(case, how)]


def _is_possible(case: Case, how: Format) -> bool:
    fits = how.has_text or not (case.text and case.calls)
    has_style = any(call.style for call in case.calls)
    return fits and len(case.calls) <= how.most_calls and (how.has_json or not has_style)


def _calls() -> list[Case]:
    paris = Call("get_weather", {"city": "Paris", "days": 2})
    rome = Call("get_weather", {"city": "Rome", "days": 3})
    place = {"name": "Old town", "at": [1, [2.5, {"x": []}], None], "open": {"mon": True}, "empty": {}}
    mixed = {"body": "née 😀", "tags": ["a", "b"], "place": {"x": [1, {}]}}
    values = {"count": -7, "ratio": 1.5e-07, "done": True, "muted": False, "limit": None}
    return [
        Case("one call", calls=(paris,)),
        Case("two calls", calls=(paris, rome)),
        Case("two different calls", calls=(Call("now", {}), paris)),
        Case("five calls", calls=(paris, rome, Call("now", {}), paris, Call("now", {}))),
        Case("text before a call", "I will look it up.", (paris,)),
        Case("brackets in the text before a call", "See {a}, [1], (b) and <c>: x = {} [].", (paris, rome)),
        Case("nested values", calls=(Call("save_note", {"place": place, "tags": ["a", "b c"]}),)),
        Case("numbers, booleans, null", calls=(Call("save_note", values),)),
        Case("large integer", calls=(Call("save_note", {"count": 9007199254740993}),)),
        Case("no arguments", calls=(Call("now", {}),)),
        Case("JSON without spaces", calls=(Call("save_note", mixed, {"separators": (",", ":")}),)),
        Case("JSON on lines", calls=(Call("save_note", mixed, {"indent": 2}),)),
        Case("JSON with escapes", calls=(Call("save_note", mixed, {"ensure_ascii": True}),)),
    ]


def _strings(how: Format) -> list[Case]:
    texts = {
        "quotes": 'She said "hi", it\'s \'fine\' and ""',
        "backslashes": 'C:\\new\\table \\\\ \\d+ \\" \\u0041',
        "line ends and tabs": "one\ntwo\n\n\tthree\r\nfour",
        "line end at the end": "one\ntwo\n",
        "spaces around": "  two spaces  ",
        "empty string": "",
        "braces and brackets": '}{ ][ )( {"name": "x"} ]} })] => [[1]]',
        "markup": "<b>bold</b> & <tag a='1'/> &amp; </p>",
        "fenced code": '```json\n{"a": 1}\n```',
        "closing mark, spelled": f"see {spelled(how.closing, how.tokens)} here",
        "call in a string, spelled": spelled(how.write([Call("now", {})]), how.tokens),
        "beyond ASCII": "Zürich, 東京, naïve 😀 👩‍👩‍👧 ½ \u2028 ￼",
        "long string": "".join(f'{number}. Line with "quotes", commas and {{braces}}.\n' for number in range(80)),
    }
    if how.closing in how.tokens and not how.marks_are_tokens_only:
        texts["closing mark, its token"] = f"see {how.closing} here"
    numbers = {"title": "3.10", "body": "0123"}
    words = {"title": "true", "body": "null"}
    return [
        *(Case(name, calls=(Call("save_note", {"body": text, "count": 1}),)) for name, text in texts.items()),
        Case("strings like numbers", calls=(Call("save_note", numbers),)),
        Case("strings like words of JSON", calls=(Call("save_note", words),)),
        Case("string like JSON", calls=(Call("save_note", {"body": json.dumps({"a": [1, "x"]})}),)),
    ]


def _texts(how: Format) -> list[Case]:
    city = Call("get_weather", {"days": 2, "city": "Reykjavik in winter"})
    at_end, begins, _ = how.mention.partition(" begins")
    return [
        Case("no call", "Paris is the capital of France {really} [1]; see (a), <b> and `f(x)`.\n\n- one\n- two"),
        Case("mention of the mark", spelled(how.mention, how.tokens)),
        *([Case("mention at the end", spelled(at_end, how.tokens))] if begins else []),
        Case(
            "mention before a call",
            spelled(how.mention, how.tokens),
            (Call("get_weather", {"city": "Paris", "days": 2}),),
        ),
        Case(CALL_IN_PROSE, f"Write {spelled(how.write([Call('now', {})]), how.tokens)} to ask for the time."),
        Case("answer of a JSON object", '{"city": "Paris", "days": 2}'),
        Case("answer of a JSON list", '["Paris", {"days": 2}]'),
        Case("cut in the name", calls=(city,), cut_after="get_wea"),
        Case("cut in a string", calls=(city,), cut_after="Reykja"),
        Case("cut in the second call", calls=(Call("get_weather", {"city": "Rome"}), city), cut_after="Reykja"),
    ]
