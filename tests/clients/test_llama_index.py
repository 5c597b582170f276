"""LlamaIndex's OpenAILike against a running server: one test for each row of docs/reference/api."""

from tests.clients.environments import environment
from tests.clients.reuse import assert_found_again
from tests.clients.served import Run
from tests.integration.compatibility import row

LLAMA_INDEX = environment("llama_index")
PACKAGE = LLAMA_INDEX.package("llama-index-llms-openai-like")


@row(PACKAGE, "OpenAILike(...).complete(...)", "the text, as a chat or as a completion, also streamed")
def test_completions_have_text(run: Run) -> None:
    seen = run(LLAMA_INDEX, "chat.py")
    assert seen["complete"]
    assert seen["completion"] == seen["streamed completion"] != ""


@row(PACKAGE, "OpenAILike(...).stream_chat(...)", "deltas that add up to the answer")
def test_stream_adds_up(run: Run) -> None:
    streamed, whole = run(LLAMA_INDEX, "chat.py")["streamed"]
    assert streamed == whole != ""


@row(PACKAGE, "OpenAILike(...).chat([..., response.message, ...])", "everything before is cached")
def test_answer_sent_back_is_cached(run: Run) -> None:
    assert_found_again(run(LLAMA_INDEX, "chat.py")["two turns"])


@row(
    PACKAGE,
    "OpenAILike(...).chat_with_tools(tool_required=True)",
    "calls whose arguments keep to the schema; sent back with their results, their KV is found again",
)
def test_tool_call_is_made_and_found_again(run: Run) -> None:
    seen = run(LLAMA_INDEX, "chat.py")["tools"]
    for name, arguments in seen["calls"]:
        assert (name, arguments["city"] in ("Paris", "Rome")) == ("weather", True)
    assert_found_again(seen["turns"])


@row(PACKAGE, "OpenAILike(...).as_structured_llm(Model)", "an object of the type")
def test_structured_model_returns_the_type(run: Run) -> None:
    forecast = run(LLAMA_INDEX, "chat.py")["structured"]
    assert forecast["city"] in ("Paris", "Rome")
    assert forecast["degrees"] in (10, 20)


@row(PACKAGE, "FunctionAgent(tools=[...], llm=OpenAILike(...))", "the agent's run ends with an answer")
def test_agent_ends_with_an_answer(run: Run) -> None:
    assert run(LLAMA_INDEX, "chat.py")["agent"] == "ChatMessage"
