"""Addresses of private networks, and the refusal of all others."""

import pytest

from app.config.private_address import parse_private_address


@pytest.mark.parametrize("text", ["127.0.0.1", "10.0.0.7", "::1", "fd00::7"])
def test_private_addresses_are_accepted(text: str) -> None:
    assert parse_private_address(text) == text


@pytest.mark.parametrize("text", ["", "localhost", "0.0.0.0", "::", "8.8.8.8", "10.0.0.7:80"])
def test_names_ports_and_public_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_private_address(text)
