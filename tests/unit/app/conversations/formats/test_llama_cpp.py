"""Exports of the page of llama.cpp."""

import json
from typing import Any

import pytest

from app.conversations.imported_files import ReadFile, read_any
from tests.unit.app.conversations.formats.exports import llama_cpp, llama_cpp_lines
from tests.unit.app.conversations.formats.test_formats import only, shown


def lines(records: list[Any]) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


def titles(file: ReadFile) -> list[tuple[int, str | None, int]]:
    return [(each.index, each.imported.conversation.title, len(each.imported.messages)) for each in file.chats]


def test_chat_keeps_prompt_branches_reasoning_and_files() -> None:
    chat = only(llama_cpp(1))
    conversation = chat.imported.conversation
    assert (chat.imported.source, conversation.title, conversation.pinned) == ("llama-cpp:c1", "Chat 1", True)
    assert (conversation.system_prompt, conversation.updated_at) == ("Be brief.", 1_751_809_805.123)
    assert conversation.created_at == 1_751_809_801.0
    assert shown(chat) == [
        ("user", 'word2\n\n<file name="a.txt">\nword1\n</file>'),
        ("assistant", "word5\n\nword6"),
        ("user", "word7"),
    ]
    assert [(each.content, each.reasoning) for each in chat.imported.messages if each.reasoning] == [("word3", "word4")]
    assert chat.left_out == {"media": 1, "tools": 2}


def test_lines_are_the_same_chats() -> None:
    chats = [llama_cpp(1), llama_cpp(2)]
    whole, by_line = read_any(json.dumps(chats).encode()), read_any(lines(llama_cpp_lines(chats)))
    assert titles(by_line) == titles(whole) == [(0, "Chat 1", 4), (1, "Chat 2", 4)]
    assert [each.left_out for each in by_line.chats] == [each.left_out for each in whole.chats]
    assert read_any(json.dumps(chats[0]).encode()).format == "llama-cpp"
    assert titles(read_any(lines(llama_cpp_lines(chats[:1])) + b"\r\n\n")) == [(0, "Chat 1", 4)]


def test_damaged_line_costs_itself_alone() -> None:
    whole = lines(llama_cpp_lines([llama_cpp(1), llama_cpp(2)])).split(b"\n")
    file = read_any(b"\n".join([*whole[:4], b'{"message": {"id": "x', *whole[4:]]))
    assert titles(file) == [(0, "Chat 1", 4), (1, "Chat 2", 4)]
    assert [each.left_out.get("other", 0) for each in file.chats] == [1, 0]
    assert titles(read_any(b"\n".join(whole)[:-9])) == titles(file)
    cut = read_any(b"\n".join(whole)[:-60])
    assert titles(cut) == [(0, "Chat 1", 4), (1, "Chat 2", 3)]
    assert [each.left_out.get("other", 0) for each in cut.chats] == [0, 1]


@pytest.mark.parametrize("missing", [0, 9])
def test_chat_whose_header_is_missing_keeps_its_messages(missing: int) -> None:
    records = llama_cpp_lines([llama_cpp(1), llama_cpp(2)])
    assert records[missing]["type"] == "session"
    del records[missing]
    file = read_any(lines(records))
    assert [(each.imported.source, len(each.imported.messages)) for each in file.chats] == [
        ("llama-cpp:c1", 4),
        ("llama-cpp:c2", 4),
    ]


@pytest.mark.parametrize("header", [b'{"harness: "llama.app"}', b'{"id": tru}', b"{", b"x", b"5", b"[", b'{"a": 1} 2'])
def test_damaged_header_costs_no_message(header: bytes) -> None:
    whole = lines(llama_cpp_lines([llama_cpp(1), llama_cpp(2)])).split(b"\n")
    file = read_any(b"\n".join([header, *whole[1:]]))
    assert [(each.imported.source, len(each.imported.messages)) for each in file.chats] == [
        ("llama-cpp:c1", 4),
        ("llama-cpp:c2", 4),
    ]


def test_chats_of_other_applications_may_be_lines_too() -> None:
    chats = [
        {"uuid": str(index), "name": "", "chat_messages": [{"sender": "human", "text": "x"}]} for index in range(2)
    ]
    file = read_any(lines(chats))
    assert (file.format, len(file.chats), file.unreadable) == ("claude", 2, [])


def test_files_and_earlier_names_are_read() -> None:
    extra = [
        {"type": "imageFile", "name": "a.png", "base64Url": ""},
        {"type": "pdfFile", "name": "a.pdf", "content": "text", "processedAsImages": False},
        {"type": "PDF", "name": "b.pdf", "content": "PDF file with 2 pages", "processedAsImages": True},
        {"type": "AUDIO", "name": "c.mp3"},
    ]
    messages = [
        {"id": "q", "role": "user", "content": "", "parent": "root", "extra": extra},
        {"id": "a", "role": "assistant", "content": "y", "thinking": "Hm.", "parent": "q", "toolCalls": ""},
        {"id": "b", "role": "assistant", "content": "z", "parent": "q", "toolCalls": '[{"id": "t"}]'},
        {"id": "p", "role": "user", "content": "", "parent": "b", "extra": extra[:1]},
    ]
    chat = only({"conv": {"id": "c", "name": "", "currNode": ""}, "messages": messages})
    assert [(each.content, each.reasoning) for each in chat.imported.messages] == [
        ('<file name="a.pdf">\ntext\n</file>', None),
        ("y", "Hm."),
        ("z", None),
        ("[attachment]", None),
    ]
    assert chat.left_out == {"media": 3, "files": 1, "tools": 1}
