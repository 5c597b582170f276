"""Files of conversations from elsewhere, and pages of shared chats."""

import json
from collections.abc import Callable
from typing import Any, Final

from app.conversations.imported_files import read_any
from app.conversations.shared_page import question
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth
from tests.sizes import Size

Chat = Callable[[int], dict[str, Any]]


def chatgpt(size: int, text: str = "a", parts: int = 1) -> dict[str, Any]:
    """Return a chat of `size` messages in turn, each below the one before."""

    def node(index: int) -> dict[str, Any]:
        author = {"role": "user" if index % 2 == 0 else "assistant"}
        content = {"content_type": "text", "parts": [text] * parts}
        return {"parent": str(index - 1) if index else None, "message": {"author": author, "content": content}}

    return {"title": "t", "mapping": {str(index): node(index) for index in range(size)}, "current_node": str(size - 1)}


def chatgpt_same_speaker(size: int) -> dict[str, Any]:
    chat = chatgpt(size)
    for node in chat["mapping"].values():
        node["message"]["author"]["role"] = "assistant"
    return chat


def chatgpt_branches(size: int) -> dict[str, Any]:
    chat = chatgpt(size)
    for index, node in chat["mapping"].items():
        node["parent"] = "0" if index != "0" else None
    return chat


def chatgpt_left_out(size: int) -> dict[str, Any]:
    chat = chatgpt(size)
    for index, node in chat["mapping"].items():
        if index not in ("0", str(size - 1)):
            del node["message"]
    return chat


def claude(size: int) -> dict[str, Any]:
    messages = [
        {"uuid": str(each), "sender": "human", "content": [{"type": "text", "text": "a"}]} for each in range(size)
    ]
    return {"uuid": "c", "name": "t", "chat_messages": messages}


def librechat(size: int) -> dict[str, Any]:
    def message(index: int) -> dict[str, Any]:
        above = str(index - 1) if index else "00000000-0000-0000-0000-000000000000"
        return {"messageId": str(index), "parentMessageId": above, "isCreatedByUser": True, "text": "a"}

    return {"conversationId": "c", "title": "t", "messages": [message(each) for each in range(size)]}


def librechat_tree(size: int) -> dict[str, Any]:
    tree: list[dict[str, Any]] = []
    for index in reversed(range(size)):
        tree = [{"messageId": str(index), "isCreatedByUser": index % 2 == 0, "text": "a", "children": tree}]
    return {"conversationId": "c", "title": "t", "messagesTree": tree}


def llama_cpp(size: int) -> dict[str, Any]:
    def message(index: int) -> dict[str, Any]:
        role = "user" if index % 2 == 0 else "assistant"
        return {"id": str(index), "parent": str(index - 1), "role": role, "content": "a", "children": [str(index + 1)]}

    return {"conv": {"id": "c", "name": "t"}, "messages": [message(each) for each in range(size)]}


def llama_cpp_lines(size: int) -> bytes:
    chat = llama_cpp(size)
    records = [{"type": "session", **chat["conv"]}, *({"type": "message", "message": m} for m in chat["messages"])]
    return b"\n".join(json.dumps(record).encode() for record in records)


def circle(size: int) -> dict[str, Any]:
    """Return a chat whose messages follow each other in a circle, with a branch of as many below one of them."""
    chat = chatgpt(size)
    chat["mapping"]["0"]["parent"] = str(size // 2)
    return chat


def same_ids(size: int) -> dict[str, Any]:
    chat = claude(size)
    for index, message in enumerate(chat["chat_messages"]):
        message |= {"uuid": "a", "content": [{"type": "text", "text": str(index)}]}
    return chat


def open_webui(size: int, content: str = "a") -> dict[str, Any]:
    def message(index: int) -> dict[str, Any]:
        role = "user" if index % 2 == 0 else "assistant"
        return {"parentId": str(index - 1) if index else None, "role": role, "content": content}

    messages = {str(each): message(each) for each in range(size)}
    return {"id": "c", "title": "t", "chat": {"history": {"messages": messages, "currentId": str(size - 1)}}}


def file_of(chat: Chat) -> Callable[[int], bytes]:
    return lambda size: json.dumps([chat(size)]).encode()


def long_message(text: str) -> Chat:
    """Return a maker of chats of Open WebUI whose first message is one text as often as the size says."""
    return lambda size: open_webui(1, text * size)


def nested_json(size: int) -> bytes:
    return b'[{"mapping": ' + b'{"children": [' * size + b"]}" * size + b"}]"


def damaged(text: bytes, before: bytes = b"") -> Callable[[int], bytes]:
    """Return a maker of files whose first message has a member with `before`, and a text as often as the size says."""
    return lambda size: b'[{"mapping": {"a": {"message": [' + before + text * size + b', 1]}, "b": ' + text * size


CHATS: Final[tuple[tuple[str, Chat, int, int], ...]] = (
    ("ChatGPT", chatgpt, 60, 1_000),
    ("ChatGPT with one speaker", chatgpt_same_speaker, 60, 1_000),
    ("ChatGPT with branches", chatgpt_branches, 60, 1_000),
    ("ChatGPT with messages that are left out", chatgpt_left_out, 60, 1_000),
    ("ChatGPT with parts", lambda size: chatgpt(1, parts=size), 1_000, 16_000),
    ("ChatGPT with citations", lambda size: chatgpt(1, "\ue200" * size), 4_000, 64_000),
    ("ChatGPT with opened citations", lambda size: chatgpt(1, "\ue200a" * size), 4_000, 64_000),
    ("ChatGPT with names", lambda size: chatgpt(1, '\ue200entity\ue202["a","b"]\ue201' * size), 1_000, 16_000),
    ("ChatGPT with opened names", lambda size: chatgpt(1, "\ue200entity\ue202[" * size), 2_000, 32_000),
    ("ChatGPT with opened sources", lambda size: chatgpt(1, "【1†" * size), 2_000, 32_000),
    ("ChatGPT in a circle", circle, 60, 1_000),
    ("Claude", claude, 60, 1_000),
    ("Claude with one id", same_ids, 60, 1_000),
    ("LibreChat", librechat, 60, 1_000),
    ("LibreChat with a tree", librechat_tree, 20, 20),
    ("llama.cpp", llama_cpp, 60, 1_000),
    ("Open WebUI", open_webui, 60, 1_000),
    ("Open WebUI with folded parts", long_message('<details type="a">b</details>'), 1_000, 16_000),
    ("Open WebUI with opened parts", long_message('<details type="a">'), 1_000, 16_000),
    ("Open WebUI with summaries", long_message('<details type="reasoning"><summary>b'), 1_000, 16_000),
    ("Open WebUI with quotes", long_message('<details type="reasoning">&gt;\n> </details>'), 500, 8_000),
    ("Open WebUI with spaces", long_message(" "), 16_000, 250_000),
)


ROWS: Final = (
    *(CostRow(f"chat of {name}", file_of(chat), read_any, small, full) for name, chat, small, full in CHATS),
    CostRow("imported list", lambda size: b"[" + b"{}," * size + b"{}]", read_any, 300, 20_000),
    CostRow("imported list of wrong values", lambda size: b"[" + b"1," * size + b"1]", read_any, 300, 2_400),
    CostRow("imported list of spaces", lambda size: b"[" + b" " * size, read_any, 16_000, 500_000),
    CostRow(
        "imported escapes", lambda size: b'[{"mapping": {"a": "' + b"\\u00e9" * size + b'"}}]', read_any, 4_000, 64_000
    ),
    CostRow(
        "imported names",
        lambda n: json.dumps([{"mapping": {str(i): 1 for i in range(n)}}]).encode(),
        read_any,
        1_000,
        16_000,
    ),
    CostRow("imported nesting", nested_json, read_any, 200, 4_000),
    CostRow("imported lines", llama_cpp_lines, read_any, 60, 1_000),
    CostRow("imported lines that are cut", lambda size: b"{}\n" + b'{"a": [\n' * size, read_any, 300, 2_400),
    CostRow("imported halves of pairs", damaged(b'"\\ud83d"'), read_any, 4_000, 64_000),
    CostRow("imported escapes that are none", damaged(b'"\\x"'), read_any, 1_000, 16_000),
    CostRow("imported quotes in a text that is cut", damaged(b'\\"', b'"'), read_any, 4_000, 64_000),
    CostRow("imported brackets that are cut", damaged(b"{", b"\\x"), read_any, 4_000, 64_000),
    CostRow("imported numbers that are none", damaged(b"NaN,"), read_any, 2_000, 32_000),
    CostRow("imported UTF-16", lambda size: ("[" + '{"a": 1},' * size + "1]").encode("utf-16"), read_any, 300, 2_400),
    CostRow("files of a shared question", lambda size: '<file name="a">\n' * size + "\n</file>", question, 400, 10_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
