"""Files whose characters, numbers or ends are damaged: the chats, messages and characters that are not are imported."""

import codecs
import json
from typing import Any

import pytest

from app.conversations.imported_files import ReadFile, read_any
from tests.unit.app.conversations.formats.exports import EXPORTS, Json, chatgpt
from tests.unit.app.conversations.test_import_ends import own_file

UNTERMINATED = '"\\ud8'


def file_with(text: str) -> bytes:
    """Return three chats, the second of which has an answer that is written as `text` is."""
    chats = json.dumps([chatgpt(100), chatgpt(200), chatgpt(300)])
    return chats.replace("word204", text).encode()


def texts(file: ReadFile, chat: int = 1) -> list[str]:
    return [each.content for each in file.chats[chat].imported.messages]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("cut \\ud83d", "cut \ufffd"),
        ("\\uDE00 cut", "\ufffd cut"),
        ("whole \\ud83d\\ude00", "whole \U0001f600"),
        ("not \\\\ud83d escaped", "not \\ud83d escaped"),
        ("a line\nbreak", "a line\nbreak"),
        ("a \x01 b \\u0000 c", "a \x01 b  c"),
    ],
)
def test_bad_character_costs_one_character(written: str, read: str) -> None:
    file = read_any(file_with(written))
    assert (len(file.chats), file.unreadable) == (3, [])
    assert read in texts(file)
    assert file.chats[1].left_out == file.chats[0].left_out


def test_bytes_that_are_no_character_cost_themselves() -> None:
    file = read_any(file_with("caf?!").replace(b"caf?!", b"caf\xe9!"))
    assert (len(file.chats), file.unreadable) == (3, [])
    assert "caf\ufffd!" in texts(file)


def test_half_a_character_in_a_title_or_a_name_is_replaced() -> None:
    chat: Json = chatgpt(100)
    chat["title"] = "Party \ud83c"
    chat["mapping"]["\ud83c"] = chat["mapping"].pop("q1") | {"id": "\ud83c"}
    file = read_any(json.dumps([chat]).encode())
    assert file.chats[0].imported.conversation.title == "Party \ufffd"


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 5_000])
def test_number_that_json_cannot_have_is_missing(number: str) -> None:
    body = json.dumps([chatgpt(100), chatgpt(200)]).replace("1700000001.5", number).encode()
    file = read_any(body)
    assert (len(file.chats), file.unreadable) == (2, [])
    assert file.chats[0].imported.messages[0].created_at == 1_700_000_000.5


ENCODINGS = {
    "UTF-8 with a mark": ("utf-8", codecs.BOM_UTF8),
    "UTF-16 LE with a mark": ("utf-16-le", codecs.BOM_UTF16_LE),
    "UTF-16 BE with a mark": ("utf-16-be", codecs.BOM_UTF16_BE),
    "UTF-16 LE": ("utf-16-le", b""),
    "UTF-16 BE": ("utf-16-be", b""),
    "UTF-32 LE with a mark": ("utf-32-le", codecs.BOM_UTF32_LE),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", [*EXPORTS, "ebb"])
def test_file_in_any_encoding_is_read(name: str, encoding: str) -> None:
    codec, mark = ENCODINGS[encoding]
    text = own_file(3).decode() if name == "ebb" else json.dumps([EXPORTS[name](100)])
    file = read_any(mark + text.replace("word100", "Ω 日本 \U0001f30a").encode(codec))
    assert (len(file.chats), file.unreadable) == (1, [])
    contents = [f"{each.content}{each.reasoning}" for each in file.chats[0].imported.messages]
    assert any("Ω 日本 \U0001f30a" in each for each in contents) == (name != "ebb")


def test_half_a_file_in_utf_16_is_read_to_its_end() -> None:
    body = json.dumps([chatgpt(100), chatgpt(200)], ensure_ascii=False).encode("utf-16")
    file = read_any(body[: body.index("word205".encode("utf-16-le")) + 3])
    assert [each.index for each in file.chats] == [0, 1]


def test_large_values_are_counted_in_every_encoding() -> None:
    body = "[" + "[]," * (1 << 20) + "[]]"
    for encoding in ("utf-8", "utf-16"):
        with pytest.raises(Exception, match="lists and objects; at most"):
            read_any(body.encode(encoding))


@pytest.mark.parametrize("damage", ['"\\x"', "{]", "{,}", "tru", '{"a": 1 "b"}', '{"a"}', UNTERMINATED, "'x'"])
def test_message_that_is_no_json_costs_one_message(damage: str) -> None:
    chats: list[Any] = [chatgpt(100), chatgpt(200), chatgpt(300)]
    chats[1]["mapping"]["a2"] = "damage"
    body = json.dumps(chats).replace('"damage"', damage)
    file = read_any(body.encode())
    assert [each.index for each in file.chats] == ([0, 1] if damage == UNTERMINATED else [0, 1, 2])
    assert len(texts(file, 0)) == 5
    assert file.chats[1].left_out["other"] >= 1


def test_rest_of_a_file_that_was_cut_is_reported() -> None:
    body = json.dumps([chatgpt(100), chatgpt(200), chatgpt(300)])
    file = read_any(body[: body.index("word205") + 3].encode())
    assert [each.index for each in file.chats] == [0, 1]
    assert file.chats[1].left_out["other"] == 1
    assert len(texts(file, 0)) > len(texts(file, 1)) > 0
    assert [(each.index, each.title, each.problem) for each in file.unreadable] == [
        (2, None, "The file is damaged here. Export or download it again. (chats[2])")
    ]


@pytest.mark.parametrize(("end", "count"), [("", 1), ("]]", 1), (",]", 1), ("] garbage", 1), (", 5]", 1), ("]", 0)])
def test_wrong_end_costs_no_chat(end: str, count: int) -> None:
    file = read_any((json.dumps([chatgpt(100)])[:-1] + end).encode())
    assert (len(file.chats), len(file.unreadable)) == (1, count)


def test_damaged_chat_costs_one_chat() -> None:
    body = json.dumps([chatgpt(100), "damage", chatgpt(300)]).replace('"damage"', '{"mapping": {"a": {}} "b": 1}')
    file = read_any(body.encode())
    assert [each.index for each in file.chats] == [0, 2]
    assert [each.index for each in file.unreadable] == [1]
