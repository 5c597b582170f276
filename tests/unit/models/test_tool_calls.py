import json
import random

import pytest

from models.tool_calls import Parsed, ToolCall, ToolCallParser

START, END = "[unused11]", "[unused12]"

WEATHER = ToolCall("weather", '{"city": "北京", "days": 2}')
CALLS = json.dumps([{"name": "weather", "arguments": {"city": "北京", "days": 2}}, {"name": "now"}])


def parsed(*pieces: str) -> Parsed:
    parser = ToolCallParser(START, END)
    parts = [*(parser.push(piece) for piece in pieces), parser.finish()]
    return Parsed("".join(part.text for part in parts), tuple(call for part in parts for call in part.calls))


def test_list_of_calls_is_removed_from_text() -> None:
    assert parsed(f"Let me look.{START}{CALLS}{END} Done.") == Parsed(
        "Let me look. Done.", (WEATHER, ToolCall("now", "{}"))
    )


def test_result_does_not_depend_on_text_chunks() -> None:
    text = f"[un{START}{CALLS}{END}[unused1{START}[]{END}x{START}{CALLS}{END}[unused"
    whole = parsed(text)
    assert len(whole.calls) == 4
    assert whole.text == "[un[unused1x[unused"
    assert parsed(*text) == whole
    source = random.Random(2)
    for _ in range(50):
        cuts = sorted(source.randrange(len(text)) for _ in range(4))
        assert parsed(*(text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True))) == whole


def test_text_is_emitted_once_it_cannot_be_a_call() -> None:
    parser = ToolCallParser(START, END)
    assert parser.push("a [unused").text == "a "
    assert parser.push("9] b").text == "[unused9] b"
    assert parser.push(f"{START}[").text == ""
    assert parser.push("]").text == ""


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "nothing",
        "{",
        "[1]",
        '[{"arguments": {}}]',
        '[{"name": 1}]',
        '[{"name": "x", "arguments": [1]}]',
        r'[{"name": "x", "arguments": {"p": "\ud83d"}}]',
        r'[{"name": "x", "arguments": {"\udc00": 1}}]',
        r'[{"name": "\ud83d", "arguments": {}}]',
        r'[{"name": "x", "arguments": "{\"p\": \"\\ud83d\"}"}]',
        '[{"name": "x", "arguments": {"p": NaN}}]',
        '[{"name": "x", "arguments": {"p": 1e999}}]',
        "[" * 99999,
    ],
)
def test_invalid_list_of_calls_stays_text(inside: str) -> None:
    text = f"a{START}{inside}{END}b"
    assert parsed(text) == Parsed(text)


@pytest.mark.parametrize(
    "inside",
    [
        '{"name": "weather", "arguments": {"city": "北京", "days": 2}}',
        json.dumps([{"name": "weather", "arguments": json.dumps({"city": "北京", "days": 2})}]),
    ],
)
def test_near_misses_of_format_are_accepted(inside: str) -> None:
    assert parsed(f"{START}{inside}{END}") == Parsed(calls=(WEATHER,))


def test_complete_calls_without_end_mark_count() -> None:
    assert parsed(f"a{START}{CALLS}").calls[0] == WEATHER
    assert parsed(f'a{START}[{{"name": "wea') == Parsed(f'a{START}[{{"name": "wea')
