"""Prompts: chat templates, control tokens in texts, and tokenizers."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.conversations.chat_prefixes import computed_prefix
from app.domain.token_history import MessageTokens
from app.storage.heads import Head, PathTokens
from engine.text.detokenizer import Detokenizer
from models.chat.format import ChatFormat, Message, unused_character
from models.chat.tool_calls import ToolCall
from models.tokenizers.tokenizer import Tokenizer
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.family_templates import LLAMA3
from tests.sizes import Size
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

MARK: Final = "<|im_start|>"


@cache
def formats(template: str) -> tuple[Tokenizer, ChatFormat]:
    with TemporaryDirectory() as name:
        path = Path(name)
        byte_tokenizer().save(str(path / "tokenizer.json"))
        (path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
        (path / "tokenizer_config.json").write_text(json.dumps({**TOKENIZER_CONFIG, "chat_template": template}))
        tokenizer = Tokenizer.load(path)
        return tokenizer, ChatFormat.load(path, tokenizer)


def rendered(template: str = CHAT_TEMPLATE) -> Callable[[Sequence[Message]], object]:
    return lambda messages: formats(template)[1].render(messages)


def texts(text: str, before: str = "", role: str = "user") -> Callable[[int], list[Message]]:
    """Return a maker of chats with one message, a text as often as the size says."""
    make = repeated(text, before)
    return lambda size: [Message(role, make(size))]


def turns(size: int) -> list[Message]:
    return [Message(("user", "assistant")[each % 2], "a") for each in range(size)]


def calls(size: int) -> list[Message]:
    asked = Message("assistant", "", tuple(ToolCall("f", '{"a": 1}') for _ in range(size)))
    return [Message("user", "a"), asked, *(Message("tool", "b") for _ in range(size))]


def answered(size: int) -> list[Message]:
    return [Message("user", "a"), *(Message("assistant", "", (ToolCall("f", "{}"),)) for _ in range(size))]


def with_tools(size: int) -> list[Message]:
    tools = [{"type": "function", "function": {"name": f"f{each}", "parameters": {}}} for each in range(size)]
    return [Message("tools", json.dumps(tools)), Message("user", "a")]


def encoded(text: str) -> object:
    return formats(CHAT_TEMPLATE)[0].encode(text, special=True)


def decoded(ids: Sequence[int]) -> None:
    detokenizer = Detokenizer(formats(CHAT_TEMPLATE)[0].token_bytes)
    for each in ids:
        detokenizer.push(each)


def unanswered(size: int) -> Head:
    return Head(None, "", [PathTokens("user", (MessageTokens(),))] * size, b"")


ROWS: Final = (
    CostRow("chat of turns", turns, rendered(), 150, 4_000),
    CostRow("chat of turns in Llama's template", turns, rendered(LLAMA3), 100, 2_000),
    CostRow("chat of calls", calls, rendered(), 60, 1_000),
    CostRow("chat of calls in Llama's template", calls, rendered(LLAMA3), 40, 1_000),
    CostRow("chat of answers with calls", answered, rendered(), 60, 1_000),
    CostRow("tools in Llama's template", with_tools, rendered(LLAMA3), 60, 1_000),
    CostRow("tools that Ebb describes", with_tools, rendered(), 60, 1_000),
    CostRow("message of spaces", texts(" "), rendered(), 4_000, 100_000),
    CostRow("message of quotes", texts('"{% {{ \\'), rendered(LLAMA3), 1_000, 50_000),
    CostRow("message of control tokens", texts(MARK), rendered(), 150, 4_000),
    CostRow("message of begun control tokens", texts("<|im_st"), rendered(), 1_000, 25_000),
    CostRow("message of placeholders", texts("\ue0001\ue000", MARK), rendered(), 1_000, 50_000),
    CostRow("message of digits and a control token", texts("12", MARK), rendered(), 2_000, 100_000),
    CostRow(
        "prompt with many private-use characters",
        lambda size: [MARK + "".join(map(chr, range(0xE000, 0xE000 + size)))],
        unused_character,
        4_000,
        250_000,
    ),
    CostRow("text of letters", repeated("a"), encoded, 4_000, 250_000),
    CostRow("text of spaces", repeated(" "), encoded, 4_000, 250_000),
    CostRow("text of words", repeated("a "), encoded, 2_000, 250_000),
    CostRow("text of marks", repeated("e\u0301"), encoded, 2_000, 100_000),
    CostRow("text of control tokens", repeated(MARK), encoded, 500, 10_000),
    CostRow("answer of half characters", lambda size: [3 + 0xE2 - 33] * size, decoded, 500, 50_000),
    CostRow("path of questions alone", unanswered, lambda head: computed_prefix(head, None, ""), 2_000, 20_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
