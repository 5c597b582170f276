import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.detokenizer import Detokenizer, StopStrings


def test_incomplete_character_is_held_back() -> None:
    pieces = {0: b"a", 1: b"\xf0\x9f", 2: b"\x8c", 3: b"\x8ab"}
    detokenizer = Detokenizer(pieces.__getitem__)
    assert [detokenizer.push(i) for i in range(4)] == ["a", "", "", "\U0001f30ab"]


def test_invalid_bytes_become_replacement_characters() -> None:
    detokenizer = Detokenizer({0: b"\xff", 1: b"ok"}.__getitem__)
    assert detokenizer.push(0) + detokenizer.push(1) == "�ok"


def test_any_split_of_bytes_gives_same_text() -> None:
    text = "Grüße, 世界 🌊 – fin"
    raw = text.encode()
    draw = random.Random(1)
    for _ in range(50):
        cuts = sorted(draw.sample(range(len(raw)), 6))
        parts = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
        detokenizer = Detokenizer(parts.__getitem__)
        assert "".join(detokenizer.push(i) for i in range(len(parts))) == text


@pytest.mark.parametrize(
    ("stop", "pieces", "shown"),
    [
        (("END",), ["one E", "N", "D two"], "one "),
        (("END",), ["one EN", "T two"], "one ENT two"),
        (("aab",), ["aaab"], "a"),
        (("\n\n", "User:"), ["hi\n", "Us", "er: x"], "hi\n"),
        (("b", "abc"), ["a", "bc"], "a"),
    ],
)
def test_no_part_of_stop_string_is_ever_shown(stop: tuple[str, ...], pieces: list[str], shown: str) -> None:
    matcher = StopStrings(stop)
    text = ""
    for piece in pieces:
        new, met = matcher.push(piece)
        text += new
        assert shown.startswith(text)
        if met is not None:
            break
    else:
        text += matcher.flush()
    assert text == shown


@pytest.mark.parametrize(
    ("stop", "pieces", "met"),
    [
        (("\n\n", "User:"), ["hi\n", "Us", "er: x"], "User:"),
        (("abc", "b"), ["a", "bc"], "b"),
        (("bc", "abc"), ["abc"], "abc"),
        (("END",), ["one EN", "T two"], None),
    ],
)
def test_first_complete_stop_string_is_reported(stop: tuple[str, ...], pieces: list[str], met: str | None) -> None:
    matcher = StopStrings(stop)
    for piece in pieces:
        _, told = matcher.push(piece)
    assert told == met


@settings(deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=40), st.lists(st.text("ab", max_size=7)))
def test_many_stop_strings_cut_where_their_definition_does(stop: list[str], pieces: list[str]) -> None:
    text, matcher, shown, met = "".join(pieces), StopStrings(tuple(stop)), "", None
    ends = [(text.index(each) + len(each), -len(each), each) for each in stop if each in text]
    for piece in pieces:
        new, met = matcher.push(piece)
        shown += new
        if met is not None:
            break
    assert met == (min(ends)[2] if ends else None)
    end, length, _ = min(ends, default=(len(text), 0, ""))
    assert shown + ("" if ends else matcher.flush()) == text[: end + length]


def test_flush_returns_held_back_text() -> None:
    matcher = StopStrings(("stop",))
    assert matcher.push("do not sto") == ("do not ", None)
    assert matcher.flush() == "sto"


def test_stop_string_is_shown_on_request() -> None:
    stop = StopStrings(("END", "x"), include=True)
    assert stop.push("aE") == ("a", None)
    assert stop.push("NDb") == ("END", "END")
