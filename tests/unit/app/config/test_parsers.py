"""Parsers of settings: what they accept, and the reason of each refusal."""

import pytest

from app.config.parsers import (
    MAX_PATTERN,
    MAX_PATTERNS,
    parse_aliases,
    parse_line_patterns,
    parse_origins,
    parse_public_url,
    parse_ray_address,
    parse_shared_replicas,
    parse_token_prices,
)
from app.domain.token_prices import TokenPrices


@pytest.mark.parametrize("text", ["auto", "10.0.0.1:6379", "head.example:6379", "[fd00::1]:6379"])
def test_ray_address_is_returned_as_typed(text: str) -> None:
    assert parse_ray_address(text) == text


@pytest.mark.parametrize("text", ["", "head", ":6379", "head:", "head:0", "head:65536", "ray://head"])
def test_text_that_is_no_ray_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be auto or HOST:PORT"):
        parse_ray_address(text)


@pytest.mark.parametrize("text", ["ray", "127.0.0.1", "10.0.0.7", "::1", "fd00::7"])
def test_ray_and_private_addresses_are_accepted(text: str) -> None:
    assert parse_shared_replicas(text) == text


@pytest.mark.parametrize("text", ["", "localhost", "0.0.0.0", "::", "8.8.8.8", "10.0.0.7:80"])
def test_shared_replicas_refuse_names_ports_and_public_addresses(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_shared_replicas(text)


def test_valid_origins_are_kept_verbatim() -> None:
    assert parse_origins("https://chat.example, http://localhost:3000,http://[::1]:8080,tauri://localhost") == (
        "https://chat.example",
        "http://localhost:3000",
        "http://[::1]:8080",
        "tauri://localhost",
    )


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "null",
        "",
        "https://a.example,",
        "chat.example",
        "https://chat.example/",
        "https://chat.example/path",
        "https://*.example",
        "https://Chat.example",
        "HTTPS://chat.example",
        "https://chat.example:443",
        "http://chat.example:80",
        "https://user@chat.example",
        "https://chat.example?x",
        "https://chat.example#x",
        "http://chat.example:port",
        "http://[::1",
    ],
)
def test_invalid_origin_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it like https://chat\.example"):
        parse_origins(text)


def test_public_url_accepts_trailing_slash() -> None:
    assert parse_public_url("https://ebb.example/") == parse_public_url("https://ebb.example") == "https://ebb.example"
    assert parse_public_url("http://192.168.1.5:8080") == "http://192.168.1.5:8080"


@pytest.mark.parametrize("text", ["ebb.example", "https://ebb.example/chat", "ftp://ebb.example", "*", "", "https://"])
def test_public_url_with_a_path_or_no_scheme_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the URL of a server"):
        parse_public_url(text)


def test_patterns_are_split_at_commas() -> None:
    assert parse_line_patterns("Trace id: *, Turn * of * ,Beta build") == ("Trace id: *", "Turn * of *", "Beta build")


def test_pattern_may_begin_with_stars_of_the_line() -> None:
    assert parse_line_patterns(r"\*\*Mood\*\*: *") == (r"\*\*Mood\*\*: *",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begin with at least"),
        ("Trace id: *,", "begin with at least"),
        ("*", "begin with at least"),
        ("a b*", "begin with at least"),
        ("one\ntwo", "more than one line"),
        ("x" * (MAX_PATTERN + 1), "has more than"),
        (",".join(["line*"] * (MAX_PATTERNS + 1)), "are more than"),
    ],
)
def test_invalid_pattern_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_line_patterns(text)


def test_aliases_are_parsed() -> None:
    assert parse_aliases("a=m, b-* = hub/m:q4=x") == {"a": "m", "b-*": "hub/m:q4=x"}
    assert parse_aliases("") == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [("a", "alias=model"), ("=m", "alias=model"), ("a=", "alias=model"), ("a=m,a=n", "a is named twice")],
)
def test_wrong_aliases_are_rejected(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_aliases(text)


def test_prices_are_read_in_any_order() -> None:
    prices = parse_token_prices("output=2, input=0.5 ,cached=0,currency=EUR")
    assert prices == TokenPrices("EUR", input=0.5, cached=0.0, output=2.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("currency=EUR,input=1,output=2", "cached is missing"),
        ("currency=EUR,input=1,cached=1,output=2,fee=3", "fee is none of currency"),
        ("currency=euro,input=1,cached=1,output=2", "'euro' is not a code of three capital letters"),
        ("currency=EUR,input=free,cached=1,output=2", "input='free' is not a number"),
        ("currency=EUR,input=1,cached=-1,output=2", "cached=-1 must be 0 or more"),
        ("currency=EUR,input=1,cached=1,output=inf", "output=inf must be 0 or more"),
    ],
)
def test_wrong_prices_are_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_token_prices(text)
