"""Allowed origins and the public URL, accepted only in the form that a browser sends."""

import pytest

from app.config.origins import parse_origins, parse_public_url


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
