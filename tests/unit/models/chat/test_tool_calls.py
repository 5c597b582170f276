import time

from models.chat.tool_calls import (
    AnswerEvent,
    ArgumentsPiece,
    CallEnd,
    CallStart,
    Parsed,
    TextPiece,
    ToolCall,
    merged,
    parsed_of,
    read_object,
    text_of,
)

EVENTS: list[AnswerEvent] = [
    TextPiece("a"),
    TextPiece("b"),
    CallStart("one"),
    ArgumentsPiece("{"),
    ArgumentsPiece("}"),
    CallEnd(is_complete=True),
    CallStart("two"),
    CallEnd(is_complete=False),
    TextPiece("c"),
    CallStart("three"),
    ArgumentsPiece('{"d'),
]


def test_events_join_to_texts_and_calls_in_order() -> None:
    parsed = parsed_of(EVENTS)
    calls = (ToolCall("one", "{}"), ToolCall("two", "", is_complete=False))
    last = ToolCall("three", '{"d', is_complete=False)
    assert parsed == Parsed(("ab", *calls, "c", last))
    assert (parsed.text, parsed.calls, text_of(EVENTS)) == ("abc", (*calls, last), "abc")


def test_merged_events_have_no_adjacent_pieces() -> None:
    joined = merged(EVENTS)
    assert joined[:3] == [TextPiece("ab"), CallStart("one"), ArgumentsPiece("{}")]
    assert parsed_of(joined) == parsed_of(EVENTS)


def test_only_objects_that_can_be_sent_are_read() -> None:
    assert read_object('{"a": [1, "é"]}') == {"a": [1, "é"]}
    others = ("", "{", "[1]", "1", '{"a": NaN}', '{"a": 1e999}', r'{"a": "\ud83d"}', r'{"\udc00": 1}', '{"a":' * 99999)
    assert [read_object(text) for text in others] == [None] * len(others)


def test_many_pieces_are_joined_in_bounded_time() -> None:
    pieces = [ArgumentsPiece("abcd")] * 300_000
    began = time.thread_time()
    assert merged(pieces) == [ArgumentsPiece("abcd" * len(pieces))]
    # A run takes some milliseconds. With a copy for each piece, it would take many seconds.
    assert time.thread_time() - began < 2.0
