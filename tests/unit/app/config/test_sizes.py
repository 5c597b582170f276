"""Sizes in bytes, parsed from the command line and formatted for output."""

import pytest

from app.config.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("0", 0),
        ("4096", 4096),
        ("512MiB", 512 << 20),
        ("2GiB", 2 << 30),
        ("2 GiB", 2 << 30),
        ("1.5gib", 3 << 29),
        ("64KiB", 64 << 10),
        ("1TiB", 1 << 40),
        ("2GB", 2_000_000_000),
        ("10B", 10),
    ],
)
def test_parse_size_accepts_binary_and_decimal_units(text: str, nbytes: int) -> None:
    assert parse_size(text) == nbytes


@pytest.mark.parametrize("text", ["", "MiB", "-1GiB", "512M", "1e9", "two GiB", "1GiB2", "0x10", "1,5GiB", "inf"])
def test_invalid_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 512MiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (64 << 10, "64 KiB"),
        (512 << 20, "512 MiB"),
        (3 << 29, "1.5 GiB"),
        (2 << 40, "2 TiB"),
    ],
)
def test_format_size_chooses_shortest_unit(nbytes: int, text: str) -> None:
    assert format_size(nbytes) == text


@pytest.mark.parametrize("nbytes", [0, 1, 64 << 20, 1536 << 20, 3 << 40])
def test_formatted_size_parses_back(nbytes: int) -> None:
    assert parse_size(format_size(nbytes).replace("bytes", "B")) == nbytes
