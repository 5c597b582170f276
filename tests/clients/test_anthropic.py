"""Anthropic's packages against a running server: the tool runner in Python, and everything in Node."""

from typing import Any, Literal

import pytest
from anthropic import Anthropic, beta_tool

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import MODEL, Run, Served
from tests.integration.compatibility import row

ANTHROPIC = environment("anthropic_node")
PACKAGE = ANTHROPIC.package("@anthropic-ai/sdk")


@row(
    "anthropic",
    "beta.messages.tool_runner(tools=[...])",
    "the loop of calls and results, also streamed; the `thread` that it asks for is not kept, and each turn finds the "
    "one before it again",
)
@pytest.mark.parametrize("stream", [False, True])
def test_tool_runner_calls_the_function(ebb: Served, stream: bool) -> None:
    called = []

    @beta_tool
    def weather(city: Literal["Paris", "Rome"]) -> str:
        """Get the weather in a city.

        Args:
            city: the city
        """
        called.append(city)
        return f"Sunny in {city}."

    with Anthropic(base_url=ebb.url, api_key=ebb.key, max_retries=0) as client:
        runner: Any = client.beta.messages.tool_runner(
            model=MODEL,
            max_tokens=60,
            messages=[{"role": "user", "content": f"What is the weather in Paris? {stream}"}],
            tools=[weather],
            tool_choice={"type": "tool", "name": "weather"},
            max_iterations=2,
            stream=stream,
        )
        messages = [each.get_final_message() if stream else each for each in runner]
    assert called
    assert set(called) <= {"Paris", "Rome"}
    assert [message.stop_reason for message in messages] == ["tool_use", "tool_use"]
    assert_found_again([figures(message.usage) for message in messages])


def figures(usage: Any) -> dict[str, int]:
    cached = usage.cache_read_input_tokens
    return {"total": usage.input_tokens + cached + usage.output_tokens, "cached": cached}


@row(
    PACKAGE,
    "messages.create({...}), messages.stream({...})",
    "text and usage, streamed too; an answer that is sent back is cached",
)
def test_conversation_is_cached(run: Run) -> None:
    chat = run(ANTHROPIC, "messages.mjs")["chat"]
    assert chat["equal"]
    assert_found_again(chat["turns"])


@row(PACKAGE, "beta.messages.toolRunner({ tools: [betaZodTool(...)] })", "as in Python")
@pytest.mark.parametrize("kind", ["tools", "streamed tools"])
def test_tool_runner_for_node_calls_the_function(run: Run, kind: str) -> None:
    tools = run(ANTHROPIC, "messages.mjs")[kind]
    assert tools["called"]
    assert set(tools["called"]) <= {"Paris", "Rome"}
    assert [message["reason"] for message in tools["messages"]] == ["tool_use", "tool_use"]
    assert_found_again(tools["messages"])


@row(PACKAGE, "messages.countTokens({...}), models.list()", "as in Python")
def test_tokens_are_counted_and_models_listed(run: Run) -> None:
    seen = run(ANTHROPIC, "messages.mjs")
    assert seen["counted"] > 5
    assert seen["models"] == [MODEL]


@row(PACKAGE, "messages.create({...})", "errors of the same classes and types as in Python")
def test_errors_have_class_and_type(run: Run) -> None:
    assert run(ANTHROPIC, "messages.mjs")["errors"] == {
        "too long": ["BadRequestError", "invalid_request_error"],
        "limited": ["RateLimitError", "rate_limit_error"],
        "wrong key": ["AuthenticationError", "authentication_error"],
        "other model": ["NotFoundError", "not_found_error"],
    }
