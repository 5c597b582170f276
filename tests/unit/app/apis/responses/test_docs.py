"""Consistency checks between the code and the tables of docs/reference/api/responses.md."""

import re
from pathlib import Path

from app.apis.responses.schema import ResponseRequest
from app.routes import openai_conversations, responses

PAGE = Path(__file__).parents[5] / "docs" / "reference" / "api" / "responses.md"


def rows() -> list[tuple[list[str], str]]:
    """Parse the rows of both tables into the names of the first cell and the text of the second."""
    cells = [
        line.strip("|").split(" | ", 1)
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    return [(re.findall(r"`([^`]+)`", first), second) for first, second in cells]


def test_table_lists_exactly_the_routes() -> None:
    calls = {f"{each.method} {each.path}" for each in (*responses.operations, *openai_conversations.operations)}
    assert {name for names, _ in rows() for name in names if " /" in name} == calls


def test_table_states_effect_of_every_field() -> None:
    said = {name: text for names, text in rows() for name in names if " /" not in name}
    refused = {name for name, text in said.items() if text.startswith("refused")}
    without_effect = {name for name, text in said.items() if text.startswith("no effect")}
    assert refused == set(ResponseRequest.neutral)
    assert without_effect == ResponseRequest.ignored
    assert said.keys() - refused - without_effect == set(ResponseRequest.model_fields)
