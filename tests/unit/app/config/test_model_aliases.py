import pytest

from app.config.model_aliases import parse_aliases


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
