"""Ollama's package for Node against a running server: one test for each row of docs/reference/api."""

import pytest

from tests.clients.environments import environment
from tests.clients.served import MODEL, Run
from tests.integration.compatibility import row

OLLAMA = environment("ollama_node")
PACKAGE = OLLAMA.package("ollama")


@row(
    PACKAGE,
    "chat({...}), chat({ stream: true })",
    "text, reason and counts; an answer that is sent back is cached",
)
def test_conversation_is_cached(run: Run) -> None:
    chat = run(OLLAMA, "chat.mjs")["chat"]
    first, second = chat["turns"]
    assert chat["equal"]
    # KV of an answer's last token is never computed.
    assert second["computed"] <= chat["prompt"] - (first["total"] - 1)
    assert {first["reason"], second["reason"]} <= {"stop", "length"}


@row(PACKAGE, "chat({ tools }), chat({ format }), generate({...}), embed({...})", "as in Python")
def test_tools_formats_and_prompts_are_taken(run: Run) -> None:
    seen = run(OLLAMA, "chat.mjs")
    assert set(seen["tools"]) <= {"stop", "length"}
    assert seen["formatted"]["city"] in ("Paris", "Rome")
    assert seen["generated"] in ("stop", "length")
    assert seen["lengths"] == pytest.approx([1, 1], abs=1e-5)


@row(PACKAGE, "list(), show({...})", "as in Python")
def test_model_is_listed_with_capabilities(run: Run) -> None:
    seen = run(OLLAMA, "chat.mjs")
    assert seen["models"] == [f"{MODEL}:latest"]
    assert "completion" in seen["capabilities"]


@row(PACKAGE, "chat({...})", "errors are `ResponseError` with their status")
def test_errors_have_their_status(run: Run) -> None:
    assert run(OLLAMA, "chat.mjs")["errors"] == {
        "too long": ["ResponseError", 400],
        "limited": ["ResponseError", 429],
        "wrong key": ["ResponseError", 401],
        "other model": ["ResponseError", 404],
    }
