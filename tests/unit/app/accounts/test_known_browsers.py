"""Marks of browsers in which a person was logged in."""

import pytest

from app.accounts.known_browsers import KnownBrowsers


def stay() -> None:
    pass


BROWSERS = KnownBrowsers(b"secret of the server")


def test_marked_browser_is_its_own_source() -> None:
    mark = BROWSERS.mark("Ada")
    source = KnownBrowsers(b"secret of the server").source(mark, "ADA", "192.0.2.1", stay)
    assert source.is_known
    assert source == BROWSERS.source(mark, "ada", "192.0.2.2", stay)
    other = BROWSERS.source(BROWSERS.mark("ada"), "ada", "192.0.2.1", stay)
    assert other.name != source.name
    assert other.place == source.place, "one person has one line, with however many browsers"


# Marks contain random characters, and all processes of a test run must find tests of the same names.
@pytest.mark.parametrize(
    "mark",
    [None, "", ".", "a.b", "ä.ä", KnownBrowsers(b"another").mark("ada"), BROWSERS.mark("bob")],
    ids=["none", "empty", "parts", "other", "umlauts", "another secret", "another person"],
)
def test_other_marks_leave_the_address(mark: str | None) -> None:
    source = BROWSERS.source(mark, "ada", "192.0.2.1", stay)
    assert not source.is_known
    assert source == BROWSERS.source(None, "bob", "192.0.2.1", stay)
    assert source != BROWSERS.source(mark, "ada", "192.0.2.2", stay)
