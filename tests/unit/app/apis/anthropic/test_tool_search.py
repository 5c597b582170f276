"""Searches among deferred tools by pattern and by words."""

import pytest

from app.apis.anthropic.references import FailedSearch
from app.apis.anthropic.tool_search import MAX_FOUND, SearchName, find_tools

CITY = {"type": "object", "properties": {"city": {"description": "Name of a town"}, "unit": {}}}
CATALOG = [
    {"name": "get_weather", "description": "Forecast for a city", "parameters": CITY},
    {"name": "send_mail", "description": "Send a letter about the weather", "parameters": {"type": "object"}},
    {"name": "slackPost", "parameters": {"properties": True}},
]


def found(name: SearchName, query: object) -> list[str] | str:
    result = find_tools(name, query, CATALOG)
    return (
        result.error_code if isinstance(result, FailedSearch) else [each.tool_name for each in result.tool_references]
    )


def test_pattern_finds_names_before_descriptions_and_arguments() -> None:
    assert found("tool_search_tool_regex", "mail|weather") == ["get_weather", "send_mail"]
    assert found("tool_search_tool_regex", "letter|slack") == ["slackPost", "send_mail"]
    assert (
        found("tool_search_tool_regex", "town")
        == found("tool_search_tool_regex", "^unit$|(?m)^unit$")
        == ["get_weather"]
    )
    assert found("tool_search_tool_regex", "(?i)SLACK") == ["slackPost"]
    assert found("tool_search_tool_regex", "SLACK") == []


def test_words_find_the_best_tool_first() -> None:
    assert found("tool_search_tool_bm25", "Weather forecast for a town") == ["get_weather", "send_mail"]
    assert found("tool_search_tool_bm25", "letter") == ["send_mail"]
    assert found("tool_search_tool_bm25", "nothing else") == []


@pytest.mark.parametrize("name", ["tool_search_tool_regex", "tool_search_tool_bm25"])
@pytest.mark.parametrize("query", [None, "", 5, "x" * 201])
def test_query_of_another_form_fails(name: SearchName, query: object) -> None:
    assert found(name, query) == "invalid_tool_input"


def test_patterns_fail_or_end_in_linear_time() -> None:
    assert found("tool_search_tool_regex", "(a") == found("tool_search_tool_regex", r"(a)\1") == "invalid_tool_input"
    long = [{"name": "f", "description": "a" * 100_000, "parameters": {}}]
    assert find_tools("tool_search_tool_regex", "(a*)*b", long).model_dump()["tool_references"] == []


def test_catalogs_without_and_with_too_many_matches() -> None:
    many = [{"name": f"weather{number}", "parameters": {}} for number in range(20)]
    names: tuple[SearchName, ...] = ("tool_search_tool_regex", "tool_search_tool_bm25")
    for name in names:
        assert find_tools(name, "weather", []).model_dump()["tool_references"] == []
    assert len(find_tools(names[0], "weather", many).model_dump()["tool_references"]) == MAX_FOUND
