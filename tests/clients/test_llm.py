"""The `llm` command against a running server: one test for each row of docs/reference/api."""

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import Run
from tests.integration.compatibility import row

LLM = environment("llm")
PACKAGE = LLM.package("llm")


@row(
    PACKAGE,
    "llm -m ebb 'a question'",
    "with the server in `extra-openai-models.yaml` and its key by `llm keys set`: the answer, streamed or not",
)
def test_command_prints_the_answer(run: Run) -> None:
    seen = run(LLM, "commands.py")
    assert seen["prompt"] == seen["whole"] != ""
    assert any("ebb" in line for line in seen["models"])


@row(PACKAGE, "llm -c 'a further question', model.conversation()", "everything before is cached")
def test_conversation_is_cached(run: Run) -> None:
    seen = run(LLM, "commands.py")
    assert seen["continued"]
    turns = [
        {
            "total": usage["input"] + usage["output"],
            "cached": (usage["details"] or {}).get("prompt_tokens_details", {}).get("cached_tokens", 0),
        }
        for usage in seen["usage"]
    ]
    assert_found_again(turns)


@row(PACKAGE, "llm --schema '{...}' ...", "JSON of the schema")
def test_schema_is_enforced(run: Run) -> None:
    assert run(LLM, "commands.py")["schema"]["city"] in ("Paris", "Rome")


@row(PACKAGE, "model.conversation(tools=[...]).chain(...)", "the chain of calls and results ends with an answer")
def test_chain_ends_with_an_answer(run: Run) -> None:
    assert run(LLM, "commands.py")["chain"]


@row(PACKAGE, "llm -m ebb-completion 'a beginning'", "with `completion: true`: the text of a completion")
def test_completion_model_prints_text(run: Run) -> None:
    assert run(LLM, "commands.py")["completion"]
