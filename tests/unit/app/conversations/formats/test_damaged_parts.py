"""Parts of messages that applications write in more than one way, or broken: the other parts are kept."""

import json
from typing import Any

import pytest

from app.conversations.imported_files import ReadChat, read_any
from tests.unit.app.conversations.formats.test_formats import gpt, gpt_node, only, shown

PICTURE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://a"}


def claude(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"uuid": "u", "name": "Water", "created_at": "2026-03-01T10:00:00Z", "chat_messages": list(messages)}


def librechat(*messages: dict[str, Any]) -> dict[str, Any]:
    numbered = [{"messageId": str(index), **message} for index, message in enumerate(messages)]
    return {"conversationId": "c", "title": "Water", "messages": numbered}


def open_webui(messages: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "x", "title": "Rain", "chat": {"history": {"currentId": "a", "messages": messages}, **fields}}


def said(role: str, parent: str | None, content: Any = "", **fields: Any) -> dict[str, Any]:
    return {"parentId": parent, "role": role, "content": content, **fields}


def of(chat: ReadChat) -> list[tuple[str, str, str | None]]:
    return [(each.role, each.content, each.reasoning) for each in chat.imported.messages]


@pytest.mark.parametrize("parts", [[PICTURE], [PICTURE, ""], [""], []])
def test_answer_to_a_picture_or_to_nothing_is_kept(parts: list[Any]) -> None:
    question = gpt_node(None, "user", *parts)
    chat = only(gpt({"q": question, "a": gpt_node("q", "assistant", "A boat.")}, current_node="a"))
    text = "[attachment]" if PICTURE in parts else "…"
    assert shown(chat) == [("user", text), ("assistant", "A boat.")]
    assert chat.left_out == ({"media": 1} if PICTURE in parts else {})


def test_pictures_alone_are_messages_of_every_application() -> None:
    files = [{"file_name": "a.png"}]
    answered = [("user", "[attachment]"), ("assistant", "A boat.")]
    sea = claude({"sender": "human", "content": [], "files": files}, {"sender": "assistant", "text": "A boat."})
    assert (shown(only(sea)), only(sea).left_out) == (answered, {"files": 1})
    picture = {"type": "image_url", "image_url": {}}
    river = librechat({"isCreatedByUser": True, "content": [picture]}, {"isCreatedByUser": False, "text": "A boat."})
    assert (shown(only(river)), only(river).left_out) == (answered, {"media": 1})
    lake = open_webui({"q": said("user", None, files=[{"type": "image"}]), "a": said("assistant", "q", "A boat.")})
    assert (shown(only(lake)), only(lake).left_out) == (answered, {"media": 1})


def test_texts_of_chatgpt_are_found_where_they_are() -> None:
    node = gpt_node(None, "user", None, "x", 5)
    node["message"]["create_time"] = "1700000000.5"
    answer = gpt_node("q", "assistant", content={"content_type": "text", "text": "y"})
    unknown = gpt_node("a", "assistant", content={"content_type": "new_kind", "parts": [{"text": "z"}]})
    unauthored = gpt_node("u", "assistant", "lost")
    unauthored["message"]["author"] = None
    chat = only(gpt({"q": node, "a": answer, "u": unknown, "n": unauthored}))
    assert of(chat) == [("user", "x", None), ("assistant", "y\n\nz", None)]
    assert chat.imported.messages[0].created_at == 1_700_000_000.5
    assert chat.left_out == {"other": 3}


@pytest.mark.parametrize("status", ["in_progress", "finished_partial_completion"])
def test_interrupted_answer_of_chatgpt_is_incomplete(status: str) -> None:
    answer = gpt_node("q", "assistant", "On")
    answer["message"]["status"] = status
    chat = only(gpt({"q": gpt_node(None, "user", "x"), "a": answer}))
    assert (chat.imported.messages[1].status, chat.imported.messages[1].finish_reason) == ("incomplete", None)


def test_documents_of_the_canvas_are_in_the_answer() -> None:
    def call(parent: str, recipient: str, **arguments: Any) -> dict[str, Any]:
        content = {"content_type": "code", "text": json.dumps(arguments)}
        return gpt_node(parent, "assistant", content=content, recipient=f"canmore.{recipient}")

    rewritten = [{"pattern": ".*", "multiple": False, "replacement": "New."}]
    changed = [{"pattern": "a", "multiple": True, "replacement": "b"}]
    mapping = {
        "q": gpt_node(None, "user", "Write."),
        "d": call("q", "create_textdoc", name="Plan", type="document", content="First."),
        "c": call("d", "create_textdoc", name="Code", type="code/python", content="```\n1"),
        "u": call("c", "update_textdoc", updates=rewritten),
        "p": call("u", "update_textdoc", updates=changed),
        "t": call("p", "comment_textdoc", comments=[]),
    }
    chat = only(gpt(mapping))
    assert chat.imported.messages[1].content == (
        "**Plan**\n\nFirst.\n\n**Code**\n\n````python\n```\n1\n````\n\n```\nNew.\n```"
    )
    assert chat.left_out == {"tools": 2}


def test_files_of_chatgpt_are_counted() -> None:
    metadata = {"attachments": [{"name": "a.pdf", "mime_type": "application/pdf"}, {"mime_type": "image/png"}]}
    chat = only(gpt({"q": gpt_node(None, "user", PICTURE, "x", metadata=metadata)}))
    assert chat.left_out == {"media": 1, "files": 1}


def test_text_of_claude_without_blocks_is_kept() -> None:
    voice = {"type": "voice_note", "text": "spoken"}
    chat = only(
        claude(
            {"uuid": "1", "sender": "human", "content": [], "text": "x"},
            {"uuid": "2", "sender": "assistant", "content": [voice, {"type": "flag"}, None], "text": ""},
            {"uuid": "3", "sender": 5, "text": "lost"},
        )
    )
    assert of(chat) == [("user", "x", None), ("assistant", "spoken", None)]
    assert chat.left_out == {"other": 4}


def test_messages_with_one_id_are_all_kept() -> None:
    question = {"uuid": "1", "sender": "human", "text": "x"}
    answer = {"uuid": "1", "sender": "assistant", "text": "y"}
    chat = only(claude(question, question, answer))
    assert of(chat) == [("user", "x", None), ("assistant", "y", None)]
    assert chat.left_out == {"other": 1}


def test_message_without_predecessor_follows_the_one_before() -> None:
    def message(name: str, above: str, sender: str) -> dict[str, Any]:
        return {"uuid": name, "parent_message_uuid": above, "sender": sender, "text": name}

    chat = only(
        claude(
            message("q", "none", "human"),
            message("a", "q", "assistant"),
            message("q3", "a2", "human"),
            message("a3", "q3", "assistant"),
            message("other", "none", "human"),
        )
    )
    by_id = {each.id: each.content for each in chat.imported.messages}
    above = {each.content: by_id.get(each.parent_id or "") for each in chat.imported.messages}
    assert above == {"q": None, "a": "q", "q3": "a", "a3": "q3", "other": None}


def test_parts_of_librechat_cost_themselves_alone() -> None:
    chat = only(
        librechat(
            {"isCreatedByUser": True, "text": "x"},
            {"parentMessageId": "0", "isCreatedByUser": False, "content": [None, {"type": "text", "text": "y"}]},
            {"parentMessageId": "1", "isCreatedByUser": None, "sender": "User", "content": "z"},
            {"parentMessageId": "2", "isCreatedByUser": False, "error": "no key", "text": "failed"},
        )
    )
    assert of(chat) == [("user", "x", None), ("assistant", "y", None), ("user", "z", None)]
    assert chat.left_out == {"other": 1, "failed": 1}


@pytest.mark.parametrize(
    ("node", "left_out"),
    [
        (None, {"other": 1}),
        (5, {"other": 1}),
        (said("", "q", error={"content": "no key"}), {"failed": 1}),
        ({"parentId": "q", "role": None, "content": "lost"}, {"other": 1}),
        (said("tool", "q", "18 C"), {"tools": 1}),
        (said("captain", "q", "lost"), {"other": 1}),
    ],
)
def test_node_of_open_webui_costs_itself_alone(node: Any, left_out: dict[str, int]) -> None:
    messages = {"q": said("user", None, "x", childrenIds=["n"]), "n": node, "a": said("assistant", "n", "y")}
    chat = only(open_webui(messages))
    assert shown(chat) == [("user", "x"), ("assistant", "y")]
    assert chat.left_out == left_out


def test_texts_of_open_webui_are_found_where_they_are() -> None:
    parts = [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {}}, None]
    output = [
        {"type": "reasoning", "content": [], "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "reasoning", "summary": "Well."},
        {"type": "message", "content": "y"},
    ]
    chat = only(open_webui({"q": said("user", None, parts), "a": said("assistant", "q", "old", output=output)}))
    assert of(chat) == [("user", "x", None), ("assistant", "y", "Hm.\n\nWell.")]
    assert chat.left_out == {"media": 1, "other": 1}


@pytest.mark.parametrize("history", [{"history": {"messages": {}}}, {"history": None}, {}])
def test_shown_messages_of_open_webui_replace_missing_history(history: dict[str, Any]) -> None:
    shown_ones = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    chat = only({"id": "x", "chat": {"messages": shown_ones, **history}})
    assert shown(chat) == [("user", "x"), ("assistant", "y")]


def test_wrong_members_of_a_chat_are_counted_once() -> None:
    chat = only(
        gpt({"q": gpt_node(None, "user", "x")}, title=5, is_archived="yes", current_node=[], update_time="soon")
    )
    assert chat.imported.conversation.title is None
    assert chat.left_out == {"other": 4}


def test_deep_file_is_read_as_far_as_it_goes() -> None:
    head = json.dumps([gpt({"q": gpt_node(None, "user", "x")})])[:-1]
    file = read_any(head.encode() + b', {"mapping": {"a": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}]")
    assert (len(file.chats), len(file.unreadable)) == (1, 1)
