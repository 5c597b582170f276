"""Values of `keep_alive`, which clients send as numbers and as Go's durations."""

from math import inf

import pytest

from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.schemas.parsing import parse_body
from engine.api.errors import InvalidRequestError


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("0", 0.0),
        ("300", 300.0),
        ("1.5", 1.5),
        ("-1", inf),
        ('"5m"', 300.0),
        ('"1h30m"', 5400.0),
        ('"500ms"', 0.5),
        ('"0"', 0.0),
        ('"-1m"', inf),
        ('"-1"', inf),
    ],
)
def test_numbers_and_durations_are_seconds(written: str, seconds: float) -> None:
    body = f'{{"model": "small", "keep_alive": {written}}}'.encode()
    fields = parse_body(OllamaGenerateRequest, body)
    assert fields.keep_alive == pytest.approx(seconds)
    assert fields.only_unloads == (seconds == 0)


@pytest.mark.parametrize("written", ['"soon"', '""', '"5 m"', "true", "[]", "1e99", '"' + "1m" * 30 + '"'])
def test_other_values_are_refused_by_name(written: str) -> None:
    with pytest.raises(InvalidRequestError, match="keep_alive"):
        parse_body(OllamaGenerateRequest, f'{{"model": "small", "keep_alive": {written}}}'.encode())
