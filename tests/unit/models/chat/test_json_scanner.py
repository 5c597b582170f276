"""The incremental JSON scanner, compared with the parsers that clients use."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import from_json

from models.chat.json_scanner import LONGEST_SCALAR, MAX_DEPTH, JsonScanner

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
NEARLY_JSON = st.text('{}[]",:\\u0d8bc12.-eEntrufals \n', max_size=40)
PAIR = r'["\ud83d\ude00 \ud83d"]'


def read(*pieces: str) -> tuple[str, str, bool, bool]:
    """Return the text of all tokens, the text that is none, whether the value is broken, and whether it is complete."""
    scanner = JsonScanner()
    text = "".join(token.text for piece in pieces for token in scanner.tokens(piece))
    return text, scanner.unread, scanner.is_broken, scanner.is_done


@settings(deadline=None)
@given(value=st.lists(VALUES, max_size=3), escaped=st.booleans(), indent=st.sampled_from([None, 2]))
def test_each_json_text_is_read_to_its_end(value: list[object], escaped: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)
    assert read(text + " ,") == (text, " ,", False, True)


@settings(deadline=None)
@given(text=NEARLY_JSON, cuts=st.lists(st.integers(0, 40), max_size=4))
@example(text=PAIR, cuts=[4, 9, 11])
def test_tokens_do_not_depend_on_text_pieces(text: str, cuts: list[int]) -> None:
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(ends)]
    assert read(*pieces) == read(text) == read(*text)


@settings(deadline=None)
@given(text=st.one_of(NEARLY_JSON, VALUES.map(json.dumps)).map(lambda inside: f"[{inside}"))
@example(text=PAIR)
def test_read_text_can_be_parsed_partially(text: str) -> None:
    whole = read(text)[0]
    for end in range(1, len(text) + 1):
        said = read(text[:end])[0]
        assert isinstance(from_json(said, allow_partial=True), list)
        assert whole.startswith(said)


@settings(deadline=None)
@given(text=NEARLY_JSON.map(lambda inside: f"[{inside}"))
def test_value_is_complete_only_if_strict_parser_agrees(text: str) -> None:
    said, unread, _, is_done = read(text)
    assert said + unread == text
    if is_done:
        json.loads(said)
        from_json(said, allow_inf_nan=False)
    else:
        with pytest.raises(ValueError):  # noqa: PT011 - the parser has a separate error
            from_json(text, allow_inf_nan=False)


@pytest.mark.parametrize(
    ("text", "read_text"),
    [
        ('{"a": NaN}', '{"a": '),
        ('{"a": 01}', '{"a": '),
        ('{"a": 1.}', '{"a": '),
        ('{"a": truth', '{"a": '),
        ('{"a" 1}', '{"a" '),
        ('{"a": 1,}', '{"a": 1,'),
        ('{"a": "x\ny"}', '{"a": "x'),
        (r'{"a": "x\y"}', '{"a": "x'),
        (r'{"a": "\udc00"}', '{"a": "'),
        (r'{"a": "\ud83d"}', '{"a": "'),
        (r'{"a": "\ud83d\n"}', '{"a": "'),
        (r'{"\ud83dx": 1}', '{"'),
        ("[1]]", "[1]"),
        ("[1}", "[1"),
        ("{1", "{"),
        ("[,", "["),
        ("I can", ""),
        (f"[{'1' * (LONGEST_SCALAR + 1)}", "["),
        ("[" * (MAX_DEPTH + 1), "[" * MAX_DEPTH),
    ],
)
def test_fault_ends_the_text_that_is_read(text: str, read_text: str) -> None:
    said, unread, is_broken, is_done = read(text)
    assert (said, said + unread) == (read_text, text)
    assert is_broken or is_done


@pytest.mark.parametrize("number", ["-4816E30487", "1e999", "9" * LONGEST_SCALAR])
def test_number_beyond_a_double_is_read(number: str) -> None:
    assert read(f'{{"a": {number}}}') == (f'{{"a": {number}}}', "", False, True)


def test_number_or_escape_is_held_until_it_is_complete() -> None:
    scanner = JsonScanner()
    pieces = ("[-1", "2", ",tru", "e", ',"\\u00', "e9")
    said = ["".join(token.text for token in scanner.tokens(piece)) for piece in pieces]
    assert said == ["[", "", "-12,", "", 'true,"', "\\u00e9"]
