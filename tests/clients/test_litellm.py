"""LiteLLM against a running server: one test for each row of docs/reference/api."""

import pytest

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import Run
from tests.integration.compatibility import row

LITELLM = environment("litellm")
PACKAGE = LITELLM.package("litellm")


@row(
    PACKAGE,
    "completion(model='openai/...')",
    "text, reason, usage; so with `hosted_vllm/`, `anthropic/` and `ollama_chat/`, also streamed",
)
@pytest.mark.parametrize("kind", ["whole", "streamed"])
def test_each_route_completes(run: Run, kind: str) -> None:
    seen = run(LITELLM, "chat.py")[kind]
    assert sorted(seen) == ["anthropic", "hosted_vllm", "ollama_chat", "openai"]
    for turns in seen.values():
        for turn in turns:
            assert turn["text"]
            assert turn["reason"] in ("stop", "length")
            assert turn["total"] > turn["prompt"] > 10


@row(
    PACKAGE,
    "completion(messages=[..., response.choices[0].message, ...])",
    "the answer is found again with all that LiteLLM adds to it, whole and streamed; `cache_control` changes no answer",
)
@pytest.mark.parametrize("kind", ["whole", "streamed"])
def test_answer_sent_back_is_cached(run: Run, kind: str) -> None:
    for route, turns in run(LITELLM, "chat.py")[kind].items():
        if route != "ollama_chat":
            assert_found_again(turns)


@row(
    PACKAGE,
    "responses(previous_response_id=...)",
    "everything before is cached; streams end with `response.completed` or `.incomplete`",
)
def test_response_continues_another(run: Run) -> None:
    first, second, events = run(LITELLM, "chat.py")["responses"]
    assert_found_again([first, second])
    assert {first["status"], second["status"]} <= {"completed", "incomplete"}
    assert events["last"] in ("response.completed", "response.incomplete")


@row(PACKAGE, "text_completion(prompt=...)", "the text of a completion")
def test_text_completion_has_text(run: Run) -> None:
    assert run(LITELLM, "chat.py")["completion"]["text"]


@row(
    PACKAGE,
    "completion(tools=..., tool_choice=...)",
    "calls whose arguments keep to the schema, also streamed and with "
    "`anthropic/`; sent back with their results, their KV is found again",
)
@pytest.mark.parametrize("kind", ["whole", "streamed"])
def test_tool_call_is_made_and_found_again(run: Run, kind: str) -> None:
    for route, seen in run(LITELLM, "tools.py")[kind].items():
        [[name, arguments]] = seen["calls"]
        assert (name, list(arguments)) == ("weather", ["city"])
        assert arguments["city"] in ("Paris", "Rome")
        # LiteLLM sends a streamed call back to Anthropic's API with a separate text: "[System: Empty message ...".
        if (route, kind) != ("anthropic", "streamed"):
            assert_found_again([{"total": seen["total"], "cached": 0}, {"total": 0, "cached": seen["cached"]}])


@row(PACKAGE, "completion(response_format=Model)", "JSON of the model's schema; so with `anthropic/`")
def test_response_format_is_enforced(run: Run) -> None:
    for forecast in run(LITELLM, "tools.py")["structured"].values():
        assert forecast["city"] in ("Paris", "Rome")
        assert forecast["degrees"] in (10, 20)


@row(
    PACKAGE,
    "completion(...)",
    "a prompt that is too long: `ContextWindowExceededError`; a limit: `RateLimitError`; a wrong "
    "key: `AuthenticationError`; another model: `NotFoundError`; a wrong field: `BadRequestError`",
)
@pytest.mark.parametrize("route", ["openai", "anthropic"])
def test_errors_have_litellms_classes(run: Run, route: str) -> None:
    assert run(LITELLM, "errors.py")[route] == {
        "too long": "ContextWindowExceededError",
        "limited": "RateLimitError",
        "wrong key": "AuthenticationError",
        "other model": "NotFoundError",
        "wrong field": "BadRequestError",
    }


@row(
    PACKAGE,
    "Router(context_window_fallbacks=..., fallbacks=...)",
    "each fires: on a prompt that is too long, and on a limit",
)
def test_fallbacks_fire(run: Run) -> None:
    assert run(LITELLM, "errors.py")["fallbacks"] == {"small": "length", "limited": "length"}


@row(PACKAGE, "embedding(input=[...])", "a vector of length 1 for each text")
def test_texts_are_embedded(run: Run) -> None:
    assert run(LITELLM, "chat.py")["lengths"] == pytest.approx([1, 1], abs=1e-5)
