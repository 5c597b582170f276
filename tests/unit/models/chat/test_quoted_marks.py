"""Marks that ordinary tokens spell: broken in any pieces, and read as text by the parser of calls."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat.call_syntax.registry import syntax_named
from models.chat.quoted_marks import BREAK, QuotedMarks, without_breaks
from models.chat.tool_calls import ToolCall, parsed_of
from models.chat.tool_format import find_tool_format, make_parser

MARKS = ("<call>", "</call>", "<all>", "aa")
TEXTS = st.text("<call>/a ", max_size=30)


def broken(pieces: list[str], marks: tuple[str, ...] = MARKS) -> str:
    spelled = QuotedMarks(marks)
    return "".join(map(spelled.push, pieces))


@given(pieces=st.lists(TEXTS, max_size=8))
def test_every_spelled_mark_is_broken_in_any_pieces(pieces: list[str]) -> None:
    text, found = "".join(pieces), broken(pieces)
    assert without_breaks(found) == text
    assert found == broken([text])
    assert not any(mark in found for mark in MARKS)
    ends = {match.start() + len(mark) - 1 for mark in MARKS for match in re.finditer(f"(?={re.escape(mark)})", text)}
    assert found.count(BREAK) == len(ends)


def test_mark_does_not_continue_across_a_token() -> None:
    spelled = QuotedMarks(MARKS)
    assert spelled.push("<ca") == "<ca"
    spelled.end_stretch()
    assert spelled.push("ll>") == "ll>"


def test_break_of_the_model_is_replaced() -> None:
    assert broken([f"<call{BREAK}>"]) == "<call\ufffd>"


def test_quoted_call_is_text_and_its_token_begins_a_call() -> None:
    parser = make_parser(syntax_named("hermes"), parallel=True)
    call = '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'
    quoted = broken([call], syntax_named("hermes").words)
    assert parser.whole(f"Write {quoted} so.\n{call}").parts == (f"Write {call} so.\n", ToolCall("now", "{}"))


def test_breaks_are_removed_from_names_and_arguments() -> None:
    words = syntax_named("hermes").words
    inside = broken(["a </tool_call> b"], words)
    text = f'<tool_call>{{"name": "{inside}", "arguments": {{"x": "{inside}"}}}}</tool_call>'
    pieces = list(text)
    parser = make_parser(syntax_named("hermes"), parallel=True)
    events = [event for piece in pieces for event in parser.push(piece)]
    [call] = parsed_of([*events, *parser.finish()]).calls
    assert (call.name, call.arguments) == ("a </tool_call> b", '{"x": "a </tool_call> b"}')


@pytest.mark.parametrize("between", ["", "\n", " \n\n"])
def test_second_mark_is_quoted_with_the_first(between: str) -> None:
    syntax = syntax_named("qwen3-coder")
    call = f"<tool_call>{between}<function=now>\n</function>\n</tool_call>"
    text = f"Write {broken([call], syntax.words)} so."
    for pieces in ([text], list(text)):
        parser = make_parser(syntax, parallel=True)
        events = [event for piece in pieces for event in parser.push(piece)]
        assert parsed_of([*events, *parser.finish()]).parts == (f"Write {call} so.",)
    parser = make_parser(syntax, parallel=True)
    mentioned = broken(["See <tool_call>: "], syntax.words)
    assert parser.whole(f"{mentioned}<function=now>\n</function>").calls == (ToolCall("now", "{}"),)


def test_breaks_are_removed_from_text_held_until_the_end() -> None:
    syntax = syntax_named("gemma4")
    quoted = broken(["<tool_call|>"], syntax.words)
    parser = make_parser(syntax, parallel=True)
    assert parser.whole(f"<|tool_call>call:{quoted}").parts == ("<|tool_call>call:<tool_call|>",)


def encode(text: str) -> list[int]:
    return {"<tool_call>": [7], "</tool_call>": [8, 9]}.get(text, [1, 2])


def test_only_a_known_format_has_tokens_of_marks() -> None:
    assert find_tool_format({}, "", name="hermes").tokens_of_marks(encode) == {7: "<tool_call>"}
    assert find_tool_format({}, "").tokens_of_marks(encode) == {}
