"""Tool calls in answers: whole, in pieces, and cut at any place."""

import json
import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from models.chat.call_reader import JsonCallReader
from models.chat.tool_call_parser import CallMarks, ToolCallParser
from models.chat.tool_calls import AnswerEvent, CallEnd, CallStart, Parsed, TextPiece, ToolCall, merged, parsed_of
from models.chat.tool_format import find_tool_format

START, END = "[unused11]", "[unused12]"
HERMES = ("<tool_call>", "</tool_call>")

WEATHER = ToolCall("weather", '{"city": "北京", "days": 2}')
NOW = ToolCall("now", "{}")
CALLS = '[{"name": "weather", "arguments": {"city": "北京", "days": 2}}, {"name": "now"}]'
INNER = json.dumps(WEATHER.arguments, ensure_ascii=False)

ANSWERS = [
    f"Let me look.{START}{CALLS}{END} Done.",
    f"[un{START}{CALLS}{END}[unused1{START}[]{END}x{START}{CALLS}{END}[unused",
    f"{START}" + '{"name": "f", "arguments": {"a": "\\ud83d\\ude00\\n", "b": [1e3, true, {"c": -12}]}}' + f"{END}\n\n",
    f"{START}" + '[{"arguments": {"a": [1]}, "id": 7, "name": "f"}]' + f"{END}",
    f"{START}" + '{"name": "f", "arguments": ' + INNER + "}" + f"{END}",
    f"{START}" + '{"name": "f", "arguments": {"a": 1}' + f"{END}, and so on",
    f"{START}" + '[{"name": "f", "arguments": {"a": 1}}, {"nome": 2}]' + f"{END}",
    f"{START}" + '{"name": "f", "arguments": {"a": \'1\'}}' + f"{END} so",
    f"{START}" + '{"name": "f", "arguments": {"a": "\\ud83d"}}' + f"{END}",
    f"{START}I cannot {START}{CALLS} more",
    f"a{START}" + '{"name": "f", "arguments": [1]}' + f"{END}b",
]
PIECES = (
    *(START, END, "[unused1", CALLS, " t", "\n"),
    *('{"name": "f", ', '"arguments": ', '{"a": "x', '"}', "}", '"{\\"b\\": 1'),
)


def json_parser(start: str, end: str, *, parallel: bool = True) -> ToolCallParser:
    return ToolCallParser(CallMarks(starts=(start,), ends=(end,)), lambda _: JsonCallReader(), parallel=parallel)


def events_of(
    pieces: list[str], cut_before: str | None = None, marks: tuple[str, str] = (START, END)
) -> list[AnswerEvent]:
    parser = json_parser(*marks)
    return merged([*(event for piece in pieces for event in parser.push(piece)), *parser.finish(cut_before)])


def parsed(*pieces: str, cut_before: str | None = None, marks: tuple[str, str] = (START, END)) -> Parsed:
    return parsed_of(events_of(list(pieces), cut_before, marks))


@pytest.mark.parametrize("text", ANSWERS)
def test_calls_that_are_not_complete_can_be_text(text: str) -> None:
    def read(size: int, end: int, cut_before: str | None) -> Parsed:
        parser = ToolCallParser(CallMarks(starts=(START,), ends=(END,)), lambda _: JsonCallReader(), only_complete=True)
        events = [event for at in range(0, end, size) for event in parser.push(text[at : min(at + size, end)])]
        return parsed_of([*events, *parser.finish(cut_before)])

    complete = tuple(call for call in parsed(text).calls if call.is_complete)
    assert read(1, len(text), None).calls == complete
    if not complete:
        assert read(1, len(text), None).text == text, "no word is lost"
    for end in range(1, len(text) + 1):
        cut = read(end, end, text[end:])
        assert cut.calls == complete[: len(cut.calls)]
        assert read(1, end, text[end:]) == read(5, end, text[end:]) == cut


def test_calls_are_removed_from_text() -> None:
    assert parsed(f"Let me look.{START}{CALLS}{END} Done.") == Parsed(("Let me look.", WEATHER, NOW, " Done."))


def test_a_late_end_of_a_call_is_no_text() -> None:
    late = f"{START}{CALLS}", " Done", "]end", "."
    marks = START, "]end"
    assert events_of(list(late), marks=marks) == events_of(["".join(late)], marks=marks)


@settings(deadline=None)
@given(
    text=st.sampled_from(ANSWERS) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    length=st.integers(0, 400),
    cuts=st.lists(st.integers(0, 400), max_size=5),
    cut_before=st.sampled_from([None, "", "used11]", "x"]),
)
@example(text=f"{START}{CALLS[:20]}", length=400, cuts=list(range(60)), cut_before="")
def test_events_do_not_depend_on_text_pieces(text: str, length: int, cuts: list[int], cut_before: str | None) -> None:
    cut = text[:length]
    ends = [0, *sorted(min(each, len(cut)) for each in cuts), len(cut)]
    whole = events_of([cut], cut_before)
    assert events_of([cut[begin:end] for begin, end in pairwise(ends)], cut_before) == whole
    assert events_of(list(cut), cut_before) == whole
    assert json_parser(START, END).whole(cut, cut_before) == parsed_of(whole)


@settings(deadline=None)
@given(text=st.sampled_from(ANSWERS) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_sent_events_are_never_taken_back(text: str) -> None:
    parser, sent = json_parser(START, END), list[AnswerEvent]()
    for character in text:
        sent += parser.push(character)
        arguments = [call.arguments for call in parsed_of(sent).calls]
        assert all(isinstance(from_json(each, allow_partial=True), dict) for each in arguments if each)
    sent += parser.finish()
    depth = 0
    for event in sent:
        depth += isinstance(event, CallStart) - isinstance(event, CallEnd)
        assert depth in (0, 1)
        assert not (depth and isinstance(event, TextPiece))
    assert depth == 0


@pytest.mark.parametrize("control", [{}, {"[unused11]": 11, "[unused12]": 12}], ids=["hermes", "pangu"])
def test_cut_answer_shows_no_markup_at_any_place(control: dict[str, int]) -> None:
    how = find_tool_format(control, "")
    calls = (WEATHER, ToolCall("now", "{}"), ToolCall("add", '{"to": [1, {"é": "\\"x\\" and }"}]}'))
    text = "So. " + how.calls(calls)
    for end in range(len(text) + 1):
        said = how.parser().whole(text[:end], "")
        assert said.text == "So. "[:end]
        assert [call.name for call in said.calls] == [call.name for call in calls[: len(said.calls)]]
        for call, whole in zip(said.calls, calls, strict=False):
            assert whole.arguments.startswith(call.arguments)
            assert call.is_complete == (call.arguments == whole.arguments)
        assert all(call.is_complete for call in said.calls[:-1])


@pytest.mark.parametrize(
    ("inside", "call"),
    [
        ('{"nam', None),
        ('{"name": "weat', None),
        ('{"name": "weather"', ""),
        ('{"name": "weather", "argum', ""),
        ('{"name": "weather", "arguments": ', ""),
        ('{"name": "weather", "arguments": {', "{"),
        ('{"name": "weather", "arguments": {"days": 12', '{"days": '),
        ('{"name": "weather", "arguments": {"city": "\\u53', '{"city": "'),
        ('{"name": "weather", "arguments": {"city": "北', '{"city": "北'),
        ('{"name": "weather", "arguments": "{\\"city\\": \\"北', '{"city": "北'),
        ('{"arguments": {"city": "北京"}, "name": "weath', None),
        ('[{"name": "weather", "arguments": {"city": "北', '{"city": "北'),
    ],
)
def test_cut_call_has_its_name_and_begun_arguments(inside: str, call: str | None) -> None:
    expected = () if call is None else (ToolCall("weather", call, is_complete=False),)
    for cut_before in ("", None):
        assert parsed(f"a{START}{inside}", cut_before=cut_before) == Parsed(("a", *expected))


def test_answer_cut_between_calls_has_only_the_first() -> None:
    first = f"{START}[" + '{"name": "now"}'
    begun = f"]{END}\n{START}[{{"
    for rest in ("", ",", ', {"na', "]", f"]{END}", f"]{END}\n", f"]{END}\n[unus", begun[:-2], begun):
        assert parsed(first + rest, cut_before="") == Parsed((NOW,))


def test_text_is_emitted_once_it_cannot_be_a_call() -> None:
    parser = json_parser(START, END)
    assert parser.push("a [unused") == [TextPiece("a ")]
    assert parser.push("9] b") == [TextPiece("[unused9] b")]
    assert parser.push(f"{START}[") == []
    assert parser.push(" I") == [TextPiece(f"{START}[ I")]


def test_beginning_of_a_mark_is_text_unless_the_answer_was_cut() -> None:
    assert parsed("if a [unused") == Parsed(("if a [unused",))
    assert parsed("if a [unused", cut_before="") == Parsed(("if a ",))
    assert parsed("if a [unused", cut_before="11]") == Parsed(("if a ",))
    assert parsed("if a [unused", cut_before="13]") == Parsed(("if a [unused",))


def test_arguments_are_emitted_while_they_are_written() -> None:
    parser = json_parser(*HERMES)
    pieces = ['<tool_call>\n{"name": "now", "argu', 'ments": {"a', '": 1', '2, "b": "x\\', 'ny"}', "}\n</tool_call>"]
    said = ["".join(getattr(event, "text", "|") for event in parser.push(piece)) for piece in pieces]
    assert said == ["", '|{"a', '": ', '12, "b": "x', '\\ny"}|', ""]


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "nothing",
        "{}",
        "[1]",
        '[{"arguments": {}}]',
        '[{"name": 1}]',
        '[{"name": "x", "arguments": [1]}]',
        '[{"name": "x", "arguments": null}]',
        '[{"name": "x", "arguments": "hello"}]',
        r'[{"name": "\ud83d", "arguments": {}}]',
        r'[{"arguments": {"p": "\ud83d"}, "name": "x"}]',
        '{"name": "x"; "arguments": {}}',
        "[" * 99999,
    ],
)
def test_json_that_is_no_call_stays_text(inside: str) -> None:
    text = f"a{START}{inside}{END}b"
    assert parsed(text) == Parsed((text,))


@pytest.mark.parametrize(
    ("arguments", "said", "rest"),
    [
        (r'{"p": "\ud83d"}', '{"p": "', r'\ud83d"}}'),
        (r'{"\udc00": 1}', '{"', r'\udc00": 1}}'),
        (r'"{\"p\": \"\\ud83d\"}"', '{"p": "', r'\ud83d"}"}'),
        ('{"p": NaN}', '{"p": ', "NaN}}"),
        ('{"p": "line\nline"}', '{"p": "line', '\nline"}}'),
    ],
)
def test_call_ends_where_its_arguments_are_invalid(arguments: str, said: str, rest: str) -> None:
    text = f'a{START}{{"name": "x", "arguments": {arguments}}}{END}b'
    assert parsed(text) == Parsed(("a", ToolCall("x", said, is_complete=False), rest + "b"))


@pytest.mark.parametrize(
    "inside",
    [
        '{"name": "weather", "arguments": {"city": "北京", "days": 2}}',
        f'[{{"name": "weather", "arguments": {INNER}}}]',
        '{"arguments": {"city": "北京", "days": 2}, "name": "weather"}',
        '{"id": 1, "name": "weather", "arguments": {"city": "北京", "days": 2}, "type": ["x"]}',
        '{"name": "weather", "arguments": {"city": "北京", "days": 2}',
        '{"name": "weather", "arguments": {"city": "北京", "days": 2}}}]',
    ],
)
def test_near_misses_of_format_are_accepted(inside: str) -> None:
    assert parsed(f"{START}{inside}{END}") == Parsed((WEATHER,))
    assert parsed(f"{START}{inside}\n") == Parsed((WEATHER,))


def test_mark_in_a_string_is_part_of_the_arguments() -> None:
    call = ToolCall("say", '{"text": "</tool_call><tool_call>"}')
    text = f'<tool_call>{{"name": "say", "arguments": {call.arguments}}}</tool_call>'
    assert parsed(text, marks=HERMES) == Parsed((call,))


def test_text_after_call_without_end_mark_is_shown() -> None:
    assert parsed(f"{START}{CALLS} Well.{END} Done.") == Parsed((WEATHER, NOW, " Well. Done."))


def test_second_end_mark_is_text() -> None:
    assert parsed(f"{START}{CALLS}{END} a {END}") == Parsed((WEATHER, NOW, f" a {END}"))


def test_only_the_first_call_counts_unless_parallel() -> None:
    parser = json_parser(START, END, parallel=False)
    assert parser.whole(f"{START}{CALLS}{END}a{START}{CALLS[:60]}", "") == Parsed((WEATHER, "a"))


def test_long_answer_of_marks_takes_linear_time() -> None:
    def seconds(num_marks: int) -> float:
        text = START * num_marks
        began = time.thread_time()
        assert json_parser(START, END).whole(text).text == text
        return time.thread_time() - began

    # Ten times as much text takes ten times as long. With a copy of the rest for each mark, it takes a hundred times.
    assert seconds(200_000) < 40 * seconds(20_000)
