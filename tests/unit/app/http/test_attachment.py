"""File names that are made from titles."""

import pytest

from app.http.attachment import MAX_NAME_BYTES, attachment, safe_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Tides", "Tides"),
        ("a/b\\c:d", "a b c d"),
        ("../../etc/passwd", "etc passwd"),
        ("CON", "CON chat"),
        ("nul.txt", "nul.txt chat"),
        (".bashrc", "bashrc"),
        ("ends in dots...", "ends in dots"),
        ("gpj.\u202eexe", "gpj.exe"),
        ("one\r\nSet-Cookie: a", "one Set-Cookie a"),
        ("", "chat"),
        ("???", "chat"),
        ("潮汐表", "潮汐表"),
    ],
)
def test_name_is_safe_on_every_file_system(title: str, name: str) -> None:
    assert safe_name(title) == name


def test_long_name_is_cut_between_characters() -> None:
    assert safe_name("潮" * 200) == "潮" * (MAX_NAME_BYTES // 3)


def test_header_has_a_plain_name_and_a_whole_one() -> None:
    assert attachment("Été／潮", "md")["Content-Disposition"] == (
        "attachment; filename=\"Ete .md\"; filename*=UTF-8''%C3%89t%C3%A9%EF%BC%8F%E6%BD%AE.md"
    )
    assert 'filename="chat.json"' in attachment("潮", "json")["Content-Disposition"]
