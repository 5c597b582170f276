"""Addresses of a Ray cluster."""

import pytest

from app.config.ray_address import parse_ray_address


@pytest.mark.parametrize("text", ["auto", "10.0.0.1:6379", "head.example:6379", "[fd00::1]:6379"])
def test_address_is_returned_as_typed(text: str) -> None:
    assert parse_ray_address(text) == text


@pytest.mark.parametrize("text", ["", "head", ":6379", "head:", "head:0", "head:65536", "ray://head"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be auto or HOST:PORT"):
        parse_ray_address(text)
