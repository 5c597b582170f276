"""OpenAI's package for Node against a running server: one test for each row of docs/reference/api."""

from typing import Any

import pytest

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import MODEL, Run
from tests.integration.compatibility import row

OPENAI = environment("openai_node")
PACKAGE = OPENAI.package("openai")


@row(
    PACKAGE,
    "chat.completions.create({...}), chat.completions.stream({...})",
    "text and usage, streamed too; an answer that is sent back is cached",
)
def test_conversation_is_cached(run: Run) -> None:
    chat = run(OPENAI, "chat.mjs")["chat"]
    assert chat["equal"]
    assert_found_again(chat["turns"])


@row(
    PACKAGE,
    "chat.completions.runTools({ tools: [zodFunction(...)] })",
    "the function is called, and its result sent back",
)
def test_tool_runner_calls_the_function(run: Run) -> None:
    tools = run(OPENAI, "chat.mjs")["tools"]
    assert tools["called"]
    assert set(tools["called"]) <= {"Paris", "Rome"}
    assert tools["roles"][:2] == ["assistant", "tool"]


@row(PACKAGE, "chat.completions.parse({ response_format: zodResponseFormat(...) })", "an object of the schema")
def test_parsed_answer_keeps_to_the_schema(run: Run) -> None:
    check(run(OPENAI, "chat.mjs")["parsed"])


@row(
    PACKAGE,
    "responses.create({...}), responses.stream({...}), responses.parse({...})",
    "as in Python: by `previous_response_id` or with `output` sent back, everything before is cached",
)
def test_responses_are_cached_and_parsed(run: Run) -> None:
    seen = run(OPENAI, "chat.mjs")["responses"]
    first, second, third = seen["turns"]
    assert_found_again([first, second])
    assert_found_again([first, third])
    assert seen["equal"]
    check(seen["parsed"])


@row(PACKAGE, "completions.create({...}), embeddings.create({...}), models.list()", "as in Python")
def test_completions_and_models_are_there(run: Run) -> None:
    seen = run(OPENAI, "chat.mjs")
    assert seen["models"] == [MODEL]
    assert seen["completion"] in ("stop", "length")
    assert seen["lengths"] == pytest.approx([1, 1], abs=1e-5)


@row(PACKAGE, "chat.completions.create({...})", "errors of the same classes and codes as in Python")
def test_errors_have_class_and_code(run: Run) -> None:
    assert run(OPENAI, "chat.mjs")["errors"] == {
        "too long": ["BadRequestError", "context_length_exceeded"],
        "limited": ["RateLimitError", "requests_per_minute_limit"],
        "wrong key": ["AuthenticationError", "invalid_api_key"],
        "other model": ["NotFoundError", "model_not_found"],
    }


def check(forecast: dict[str, Any]) -> None:
    assert forecast["city"] in ("Paris", "Rome")
    assert forecast["degrees"] in (10, 20)
