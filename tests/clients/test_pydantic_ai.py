"""Pydantic AI against a running server: one test for each row of docs/reference/api."""

from typing import Any

import pytest

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import Run
from tests.integration.compatibility import row

PYDANTIC_AI = environment("pydantic_ai")
PACKAGE = PYDANTIC_AI.package("pydantic-ai-slim")


@pytest.fixture(params=["chat", "responses", "anthropic"])
def seen(request: pytest.FixtureRequest, run: Run) -> dict[str, Any]:
    """Return what the agents on one of the three models saw."""
    found: dict[str, Any] = run(PYDANTIC_AI, "runs.py")[request.param]
    return found


@row(
    PACKAGE,
    "agent.run(message_history=result.all_messages())",
    "on `OpenAIChatModel`, `OpenAIResponsesModel` and `AnthropicModel`: everything before is cached",
)
def test_message_history_is_cached(seen: dict[str, Any]) -> None:
    assert_found_again(seen["two turns"])


@row(PACKAGE, "agent.run_stream(...)", "deltas that add up to the output, with usage")
def test_stream_adds_up(seen: dict[str, Any]) -> None:
    assert seen["streamed"]["equal"]
    assert seen["streamed"]["deltas"] > 1
    assert seen["streamed"]["usage"]["total"] > 10


@row(PACKAGE, "Agent(output_type=ToolOutput(Model), tools=[...])", "the tool is called, then the output has the type")
def test_tool_is_called_before_the_output(seen: dict[str, Any]) -> None:
    assert set(seen["tool"]["called"]) <= {"Paris", "Rome"}
    check(seen["tool"]["output"])


@row(PACKAGE, "Agent(output_type=NativeOutput(Model))", "an object of the type")
def test_native_output_has_the_type(seen: dict[str, Any]) -> None:
    check(seen["structured"])


@row(PACKAGE, "agent.run(...)", "a prompt that is too long, and a limit: `ModelHTTPError` with the status")
def test_errors_have_their_status(seen: dict[str, Any]) -> None:
    assert (seen["too long"], seen["limited"]) == (400, 429)


def check(forecast: dict[str, Any]) -> None:
    assert forecast["city"] in ("Paris", "Rome")
    assert forecast["degrees"] in (10, 20)
