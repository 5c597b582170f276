"""OpenAI's Agents SDK against a running server: one test for each row of docs/reference/api."""

from typing import Any

import pytest

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import Run
from tests.integration.compatibility import row

AGENTS = environment("openai_agents")
PACKAGE = AGENTS.package("openai-agents")


@pytest.fixture(params=["chat", "responses"])
def seen(request: pytest.FixtureRequest, run: Run) -> dict[str, Any]:
    """Return what the agents on one of the two models saw."""
    found: dict[str, Any] = run(AGENTS, "runs.py")[request.param]
    return found


@row(
    PACKAGE,
    "Runner.run(agent, result.to_input_list())",
    "on `OpenAIChatCompletionsModel` and `OpenAIResponsesModel`: everything before is cached; so with `SQLiteSession`",
)
def test_further_turn_finds_earlier_ones(seen: dict[str, Any]) -> None:
    assert_found_again(seen["two turns"])
    assert_found_again(seen["session"])


@row(PACKAGE, "Runner.run_streamed(...)", "deltas that add up to `final_output`, with usage")
def test_stream_adds_up(seen: dict[str, Any]) -> None:
    assert seen["streamed"]["equal"]
    assert seen["streamed"]["deltas"] > 1
    assert seen["streamed"]["usage"][0]["total"] > 10


@row(
    PACKAGE,
    "Agent(tools=[function_tool])",
    "the loop of calls and results ends with an answer, also streamed; each turn finds the one before it again",
)
@pytest.mark.parametrize("kind", ["tool", "streamed tool"])
def test_tool_loop_ends_and_is_cached(seen: dict[str, Any], kind: str) -> None:
    loop = seen[kind]
    assert loop["called"]
    assert set(loop["called"]) <= {"Paris", "Rome"}
    assert_found_again(loop["usage"])


@row(PACKAGE, "Agent(handoffs=[...])", "the other agent answers")
def test_handoff_reaches_other_agent(seen: dict[str, Any]) -> None:
    assert seen["handoff"]["last"] == "Expert"


@row(PACKAGE, "Agent(output_type=Model)", "an object of the type")
def test_output_type_is_kept(seen: dict[str, Any]) -> None:
    assert seen["structured"]["city"] in ("Paris", "Rome")
    assert seen["structured"]["degrees"] in (10, 20)
