"""Bodies of requests: compression, JSON, and the fields of every API."""

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any, Final

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.anthropic.references import ToolReferenceBlock, text_of_references
from app.apis.anthropic.tool_search import find_tools
from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.ollama.embed_schema import OllamaEmbedRequest
from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.openai.completions_schema import CompletionRequest
from app.apis.openai.embeddings_schema import EmbeddingsRequest
from app.apis.openai.tokens_schema import DetokenizeRequest, TokenizeRequest
from app.apis.ranking.rerank_schema import RerankRequest
from app.apis.responses.compaction import open_summary, seal_summary
from app.apis.responses.conversations_schema import NewConversation
from app.apis.responses.schema import ResponseRequest
from app.domain.tags import tag_name
from app.domain.titles import title_by_model, title_from
from app.host.hidden_folders import without_folders
from app.http.request_body import Inflation
from app.prompts.answer_seal import Dialogue, seals_of_answers
from app.prompts.tool_offer import in_name_order
from app.prompts.volatile_lines import KNOWN_LINES, treat
from app.schemas.admin import NewKey
from app.schemas.bulk import BulkFields
from app.schemas.conversations import ConversationFields, NewMessage
from app.schemas.json_bounds import check_bounds
from app.schemas.library import KeptFileFields
from app.schemas.parsing import IgnoredFields, RequestModel, parse_body
from app.storage.search_words import segmented, spellings
from app.storage.snippets import SnippetMaker
from models.chat.call_syntax.fields import json_fields
from models.chat.format import Message
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.sizes import Size

ASKED: Final = {"role": "user", "content": "hi"}


def inflated(body: bytes) -> bytes:
    inflation = Inflation(body, 64 << 20)
    while not inflation.is_done:
        inflation.step()
    return inflation.whole()


def listed(field: str, item: dict[str, Any] | str, **fields: Any) -> Callable[[int], bytes]:
    """Return a maker of bodies whose `field` is a list of one item as often as the size says."""
    return lambda size: json.dumps({"model": "m", **fields, field: [item] * size}).encode()


def chat(**fields: Any) -> Callable[[int], bytes]:
    """Return a maker of chats with one message, whose fields are long texts of these characters."""
    return lambda size: json.dumps(
        {"model": "m", "messages": [{**ASKED, **{k: v * size for k, v in fields.items()}}]}
    ).encode()


def reader(model: type[RequestModel]) -> Callable[[bytes], object]:
    return lambda body: parse_body(model, body, IgnoredFields())


def turns_of(body: bytes) -> object:
    return parse_body(ChatCompletionRequest, body, IgnoredFields()).turns()


def anthropic_turns_of(body: bytes) -> object:
    fields = parse_body(MessagesRequest, body, IgnoredFields())
    return fields.turns, fields.marked_share


def tool(size: int, description: str = "") -> dict[str, Any]:
    parameters = {"type": "object", "properties": {f"a{each}": {"type": "integer"} for each in range(size)}}
    return {"name": "f", "description": description, "parameters": parameters}


def references_in(names: list[str]) -> object:
    """Describe tools that a conversation names for the first time."""
    blocks = [ToolReferenceBlock(type="tool_reference", tool_name=name) for name in names]
    return text_of_references(blocks, {name: {"name": name, "parameters": {}} for name in names})


def names(size: int) -> list[str]:
    return [f"a{each}" for each in range(size)]


def nested(size: int) -> bytes:
    return b'{"model": "m", "messages": ' + b"[" * size + b"]" * size + b"}"


CALL: Final = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ROWS: Final = (
    CostRow("empty members of a deflated body", lambda size: zlib.compress(b"") * size, inflated, 16_000, 128_000),
    CostRow("blocks of a gzipped body", lambda size: gzip.compress(bytes(size)), inflated, 2_000_000, 8_000_000),
    CostRow("JSON of escapes", lambda size: b'"\\""' * size, check_bounds, 40_000, 80_000),
    CostRow("JSON of brackets", nested, reader(ChatCompletionRequest), 4_000, 250_000),
    CostRow("JSON of spaces", lambda size: b" " * size, reader(ChatCompletionRequest), 16_000, 1_000_000),
    CostRow(
        "JSON of a long number",
        lambda size: b'{"model": ' + b"1" * size + b"}",
        reader(ChatCompletionRequest),
        2_000,
        500_000,
    ),
    CostRow(
        "unknown fields",
        lambda n: json.dumps({f"a{i}": 1 for i in range(n)}).encode(),
        reader(ChatCompletionRequest),
        500,
        8_000,
    ),
    CostRow("messages of a chat", listed("messages", ASKED), turns_of, 200, 900),
    CostRow(
        "parts of a message",
        listed("messages", {"role": "user", "content": [{"type": "text", "text": "a"}] * 9}),
        turns_of,
        40,
        150,
    ),
    CostRow(
        "parts that no model reads",
        listed("messages", {"role": "user", "content": [{"type": "a", "content": [[{"text": "b"}]] * 9}]}),
        turns_of,
        40,
        150,
    ),
    CostRow("calls of a chat", listed("messages", {"role": "assistant", "tool_calls": [CALL] * 9}), turns_of, 30, 150),
    CostRow(
        "tools of a chat",
        listed("tools", {"type": "function", "function": tool(9)}, messages=[ASKED]),
        turns_of,
        15,
        30,
    ),
    CostRow("stop texts", listed("stop", "a", messages=[ASKED]), reader(ChatCompletionRequest), 1_000, 4_000),
    CostRow("text of quotes", chat(content='"'), turns_of, 8_000, 500_000),
    CostRow("prompts of a completion", listed("prompt", "a"), reader(CompletionRequest), 1_000, 4_000),
    CostRow("texts to embed", listed("input", "a"), reader(EmbeddingsRequest), 1_000, 4_000),
    CostRow("documents to rank", listed("documents", "a", query="a"), reader(RerankRequest), 500, 1_000),
    CostRow("texts to embed for Ollama", listed("input", "a"), reader(OllamaEmbedRequest), 1_000, 4_000),
    CostRow(
        "options for Ollama",
        lambda n: json.dumps({"model": "m", "prompt": "a", "options": dict.fromkeys(names(n), 1)}).encode(),
        reader(OllamaGenerateRequest),
        500,
        8_000,
    ),
    CostRow(
        "biased tokens",
        lambda n: json.dumps({"model": "m", "messages": [ASKED], "logit_bias": {str(i): 1 for i in range(n)}}).encode(),
        reader(ChatCompletionRequest),
        250,
        8_000,
    ),
    CostRow(
        "metadata",
        lambda n: json.dumps(
            {"model": "m", "messages": [ASKED], "metadata": dict.fromkeys(names(n), "a" * 100)}
        ).encode(),
        reader(ChatCompletionRequest),
        1_000,
        2_000,
    ),
    CostRow(
        "ids of tokens", lambda n: json.dumps({"tokens": [1] * n}).encode(), reader(DetokenizeRequest), 4_000, 64_000
    ),
    CostRow("messages to tokenize", listed("messages", ASKED), reader(TokenizeRequest), 200, 900),
    CostRow("items of a conversation", listed("items", ASKED), reader(NewConversation), 4_000, 16_000),
    CostRow(
        "selected conversations",
        lambda n: json.dumps({"conversation_ids": ["a"] * n}).encode(),
        reader(BulkFields),
        1_000,
        8_000,
    ),
    CostRow(
        "text of a kept file",
        lambda n: json.dumps({"name": "a", "text": "\n" * n}).encode(),
        reader(KeptFileFields),
        16_000,
        250_000,
    ),
    CostRow("name of a key", lambda n: json.dumps({"name": "a " * n}).encode(), reader(NewKey), 4_000, 64_000),
    CostRow("messages for Ollama", listed("messages", ASKED), reader(OllamaChatRequest), 200, 900),
    CostRow("items of a response", listed("input", ASKED), reader(ResponseRequest), 200, 900),
    CostRow(
        "results of a response",
        listed("input", {"type": "function_call_output", "call_id": "a", "output": "b"}),
        reader(ResponseRequest),
        200,
        900,
    ),
    CostRow("messages for Anthropic", listed("messages", ASKED, max_tokens=1), anthropic_turns_of, 200, 900),
    CostRow(
        "blocks for Anthropic",
        lambda n: listed("messages", {"role": "user", "content": [{"type": "text", "text": "a"}] * n}, max_tokens=1)(1),
        anthropic_turns_of,
        200,
        900,
    ),
    CostRow(
        "results for Anthropic",
        lambda n: listed(
            "messages",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "b"}] * n},
            max_tokens=1,
        )(1),
        anthropic_turns_of,
        200,
        900,
    ),
    CostRow("sealed summary", repeated("A"), lambda text: open_summary(text, b"salt"), 16_000, 500_000),
    CostRow(
        "sealed summary of the tenant",
        lambda n: seal_summary("a" * n, b"salt"),
        lambda text: open_summary(text, b"salt"),
        16_000,
        500_000,
    ),
    CostRow(
        "search for tools by words",
        lambda n: [tool(1, "a b ")] * n,
        lambda tools: find_tools("tool_search_tool_bm25", "a b", tools),
        100,
        1_000,
    ),
    CostRow(
        "search for tools by a pattern",
        lambda n: [tool(1, "a" * n)],
        lambda tools: find_tools("tool_search_tool_regex", "(a*)*b", tools),
        4_000,
        64_000,
    ),
    CostRow(
        "search for tools by a long pattern",
        lambda n: "(a?)" * n + "a" * n,
        lambda query: find_tools("tool_search_tool_regex", query, [tool(1, "a" * 200)]),
        8,
        10,
    ),
    CostRow("references to tools", names, references_in, 250, 4_000),
    CostRow(
        "answers of a whole conversation",
        lambda n: [Message("assistant", "a")] * n,
        lambda messages: seals_of_answers(Dialogue(b"salt", "identity"), messages),
        250,
        4_000,
    ),
    CostRow("parameters that are JSON", lambda n: [tool(n)], json_fields, 500, 8_000),
    CostRow(
        "tools in the order of names",
        lambda n: Message("tools", json.dumps([{"function": {"name": str(i)}} for i in range(n)])),
        in_name_order,
        1_000,
        16_000,
    ),
    CostRow("lines of a prompt", repeated("a\n"), lambda text: treat(text, KNOWN_LINES), 4_000, 200_000),
    CostRow(
        "lines of a prompt with known beginnings",
        repeated("Today's date is "),
        lambda text: treat(text, KNOWN_LINES),
        1_000,
        16_000,
    ),
    CostRow("tags of a chat", listed("tags", "a"), reader(ConversationFields), 1_000, 4_000),
    CostRow("name of a tag", repeated("a \0"), tag_name, 4_000, 64_000),
    CostRow(
        "message of the page", lambda n: json.dumps({"content": "a" * n}).encode(), reader(NewMessage), 16_000, 250_000
    ),
    CostRow("title of a message", repeated('<file name="'), title_from, 4_000, 64_000),
    CostRow("title of spaces", repeated(" "), title_from, 16_000, 250_000),
    CostRow("title by a model", repeated("abcd "), lambda text: title_by_model("abcd", text), 2_000, 32_000),
    CostRow("text of combining marks", repeated("\u0301\u0316", "a"), segmented, 450, 16_000),
    CostRow("text of an unspaced script", repeated("\u4e00"), segmented, 2_000, 64_000),
    CostRow("text without spaces", repeated("\u00e9"), segmented, 4_000, 64_000),
    CostRow("mistyped word", repeated("a"), spellings, 4_000, 64_000),
    CostRow("message with folders", repeated("-/a"), without_folders, 2_000, 64_000),
    CostRow("text that a search shows", repeated("a b "), SnippetMaker("ab cd").snippet, 2_000, 64_000),
    CostRow("text of marks that a search shows", repeated("\u0301"), SnippetMaker("ab cd").snippet, 4_000, 64_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
