"""Cookies of the server, read from headers that clients make up."""

import pytest

from app.http.cookies import MAX_VALUE_LENGTH, cookie_of


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("ebb=secret", "secret"),
        ("other=1; ebb=secret; more", "secret"),
        ("ebb=first;ebb=last", "last"),
        ("ebb = spaced ", "spaced"),
        ("ebb=a=b", "a=b"),
        ("ebb=", ""),
        ("xebb=secret; ebbx=secret; ebb", ""),
        ("other=1", None),
        ("", None),
        (f"ebb={'x' * MAX_VALUE_LENGTH}", "x" * MAX_VALUE_LENGTH),
        (f"ebb={'x' * (MAX_VALUE_LENGTH + 1)}", None),
    ],
)
def test_only_the_named_cookie_is_read(header: str, value: str | None) -> None:
    assert cookie_of(header, "ebb") == value
