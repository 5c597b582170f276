"""Vercel's AI SDK against a running server: one test for each row of docs/reference/api."""

from typing import Any

import pytest

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import Run
from tests.integration.compatibility import row

AI_SDK = environment("ai_sdk")
AI = AI_SDK.package("ai")
OPENAI = AI_SDK.package("@ai-sdk/openai")
PROVIDERS = ("@ai-sdk/openai", "@ai-sdk/openai chat", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic")


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def seen(provider: str, run: Run) -> dict[str, Any]:
    """Return what the models of one provider saw."""
    found: dict[str, Any] = run(AI_SDK, "text.mjs")[provider]
    return found


@row(AI_SDK.package("@ai-sdk/anthropic"), "createAnthropic({ baseURL, apiKey })", "serves all calls of `ai` below")
@row(
    AI_SDK.package("@ai-sdk/openai-compatible"),
    "createOpenAICompatible({ name, baseURL, apiKey })",
    "serves all calls of `ai` below",
)
@row(
    OPENAI,
    "createOpenAI({ baseURL, apiKey })",
    "serves all calls of `ai` below, as Responses and with `.chat`; its second turn refers to items by id",
)
@row(
    AI,
    "generateText({ messages }), streamText({ messages })",
    "text, reason and usage; `responseMessages` are found again",
)
def test_conversation_is_cached(provider: str, seen: dict[str, Any]) -> None:
    talk = seen["conversation"]
    assert talk["refers"] == (provider == "@ai-sdk/openai")
    assert talk["equal"]
    assert set(talk["reasons"]) <= {"stop", "length"}
    assert_found_again(talk["usage"])


@row(
    AI,
    "generateText({ tools, toolChoice, stopWhen, prepareStep })",
    "steps with calls and their results, also streamed; each step and the turn after them find the one before again",
)
@pytest.mark.parametrize("kind", ["tools", "streamed tools"])
def test_tool_steps_are_cached(seen: dict[str, Any], kind: str) -> None:
    loop = seen[kind]
    assert loop["called"] >= 1
    assert loop["reasons"][0] == "tool-calls"
    assert_found_again(loop["usage"])


@row(AI, "generateText({ output: Output.object({ schema }) })", "an object of the schema; so with `streamText`")
def test_objects_keep_to_the_schema(seen: dict[str, Any]) -> None:
    for forecast in seen["objects"]:
        assert forecast["city"] in ("Paris", "Rome")
        assert forecast["degrees"] in (10, 20)


@row(AI, "generateText(...)", "errors are `APICallError` with the status; a limit is retryable")
def test_errors_have_their_status(seen: dict[str, Any]) -> None:
    assert seen["errors"] == {
        "too long": [400, False],
        "limited": [429, True],
        "wrong key": [401, False],
        "other model": [404, False],
    }


@row(OPENAI, "openai.completion(...), openai.embedding(...)", "the text of a completion; a vector of length 1")
def test_completion_and_embedding_are_there(run: Run) -> None:
    seen = run(AI_SDK, "text.mjs")
    assert seen["completion"] in ("stop", "length")
    assert seen["length"] == pytest.approx(1, abs=1e-5)
