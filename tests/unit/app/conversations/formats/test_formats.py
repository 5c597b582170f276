"""Exports of other applications: how their messages become questions and answers, and how broken ones are refused."""

import json
from typing import Any

import pytest

from app.conversations.formats.checked import Checked
from app.conversations.formats.tree import ForeignChat, Node, imported_from
from app.conversations.imported_files import ReadChat, read_any
from app.domain.records import Message
from engine.api.errors import InvalidRequestError

ZERO = "00000000-0000-0000-0000-000000000000"


def only(*values: Any) -> ReadChat:
    file = read_any(json.dumps(values).encode())
    assert file.unreadable == []
    [chat] = file.chats
    return chat


def shown(chat: ReadChat) -> list[tuple[str, str]]:
    """Return role and text of the messages on the path to the head."""
    by_id = {each.id: each for each in chat.imported.messages}
    path, at = list[Message](), chat.imported.conversation.head_id
    while at is not None:
        path.append(by_id[at])
        at = by_id[at].parent_id
    return [(each.role, each.content) for each in path[::-1]]


def refusal(body: bytes | list[Any] | dict[str, Any]) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        read_any(body if isinstance(body, bytes) else json.dumps(body).encode())
    return caught.value.message


def gpt_node(parent: Any, role: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": list(parts)}
    message = {"author": {"role": role}, "create_time": 1_700_000_001.0, "content": content, **fields}
    return {"parent": parent, "children": [], "message": message}


def gpt(mapping: dict[str, Any], **fields: Any) -> dict[str, Any]:
    known = {"title": "Tides", "create_time": 1_700_000_000.0, "update_time": 1_700_000_100.0, "id": "abc"}
    return {**known, "mapping": mapping, **fields}


def test_tree_of_chatgpt_becomes_branches() -> None:
    chat = only(
        gpt(
            {
                "root": {"parent": None, "message": None},
                "sys": gpt_node("root", "system", ""),
                "q1": gpt_node("sys", "user", "When is it high?"),
                "a1": gpt_node("q1", "assistant", "At noon."),
                "a2": gpt_node("q1", "assistant", "At one."),
                "q2": gpt_node("a1", "user", "And low?"),
                "a3": gpt_node("q2", "assistant", "At six."),
            },
            current_node="a2",
            is_archived=True,
        )
    )
    conversation = chat.imported.conversation
    assert chat.imported.source == "chatgpt:abc"
    assert (conversation.title, conversation.archived, conversation.updated_at) == ("Tides", True, 1_700_000_100.0)
    assert len(chat.imported.messages) == 5
    assert shown(chat) == [("user", "When is it high?"), ("assistant", "At one.")]
    assert chat.left_out == {}


def test_tools_and_pictures_of_chatgpt_are_counted() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://a"}
    chat = only(
        gpt(
            {
                "q": gpt_node(None, "user", "Look", picture),
                "think": gpt_node(
                    "q", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "A boat."}]}
                ),
                "before": gpt_node("think", "assistant", "Let me look."),
                "call": gpt_node("before", "assistant", "search()", recipient="web"),
                "result": gpt_node("call", "tool", "found"),
                "after": gpt_node("result", "assistant", "A boat.\ue200cite\ue202turn0\ue201"),
            },
            current_node="after",
        )
    )
    assert shown(chat) == [("user", "Look"), ("assistant", "Let me look.\n\nA boat.")]
    assert chat.imported.messages[-1].reasoning == "A boat."
    assert chat.left_out == {"media": 1, "tools": 2}


@pytest.mark.parametrize(
    ("mapping", "kept", "others"),
    [
        ({"a": gpt_node("b", "user", "x"), "b": gpt_node("a", "assistant", "y")}, ["x", "y"], 1),
        ({"a": gpt_node("a", "user", "x")}, ["x"], 1),
        (
            {"a": gpt_node("b", "user", "x"), "b": gpt_node("c", "assistant", "y"), "c": gpt_node("b", "user", "z")},
            4,
            1,
        ),
        ({"a": 5, "q": gpt_node("a", "user", "x")}, ["x"], 1),
        ({"a": None, "q": gpt_node("a", "user", "x")}, ["x"], 1),
        ({"a": {"message": {"author": 1}}, "q": gpt_node("a", "user", "x")}, ["x"], 2),
        ({"a": gpt_node(None, "captain", "x"), "q": gpt_node("a", "user", "x")}, ["x"], 1),
        ({"q": gpt_node(None, "user", 5, "x")}, ["x"], 1),
        ({"a b": gpt_node(None, "user", "x", create_time="soon")}, ["x"], 1),
        ({"q": gpt_node(5, "user", "x")}, ["x"], 1),
    ],
)
def test_damaged_message_is_counted_and_costs_no_other(mapping: Any, kept: Any, others: int) -> None:
    chat = only(gpt(mapping))
    found = [each.content for each in chat.imported.messages]
    assert (len(found) if isinstance(kept, int) else found) == kept
    assert chat.left_out == {"other": others}


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ([], "The chat is damaged: none of its questions and answers can be read. Export the chat again. (chats[0])"),
        ({"a": 5}, "The chat is damaged"),
        ({}, "The chat has no questions or answers, so it is left out. (chats[0])"),
    ],
)
def test_chat_without_messages_is_refused_with_its_place(mapping: Any, words: str) -> None:
    assert words in refusal([gpt(mapping)])


def test_hostile_file_is_refused() -> None:
    deep = b'[{"mapping": {"a": ' + b"[" * 100_000
    assert "The chat is damaged" in refusal(deep)
    assert "The file is damaged here" in refusal(b'{"messages": ' + b'[{"children": ' * 60_000)
    assert "no export that Ebb can read" in refusal([])
    assert "no export that Ebb can read" in refusal([1, "a", {"title": "x"}])
    assert "no export that Ebb can read" in refusal(b"5")
    assert "no export that Ebb can read" in refusal(b"")
    assert "The chat is damaged" in refusal(b'[{"mapping": {"a": }}]')


def test_one_broken_chat_does_not_stop_the_others() -> None:
    good = gpt({"a": gpt_node(None, "user", "x")})
    other = {"uuid": "c", "chat_messages": [{"sender": "human", "text": "x"}]}
    file = read_any(json.dumps([good, gpt({"a": 5}, id="b"), 7, good, other]).encode())
    assert [chat.index for chat in file.chats] == [0]
    assert [(each.index, each.title) for each in file.unreadable] == [(1, "Tides"), (2, None), (3, "Tides"), (4, None)]
    problems = [each.problem for each in file.unreadable]
    assert problems == [
        "The chat is damaged: none of its questions and answers can be read. Export the chat again. (chats[1])",
        "This is no chat of ChatGPT, Claude, LibreChat, llama.cpp or Open WebUI, so it is left out. (chats[2])",
        "The file has another chat with the same id, which is imported instead. (chats[3])",
        "The chats before it are of another application. Import this one in a file of its own. (chats[4])",
    ]


def test_branches_that_repeat_too_much_are_refused() -> None:
    nodes = {
        "q": Node(parent=None, speaker="user", text="x"),
        "0": Node(parent="q", speaker="assistant", text="a" * 1000),
    }
    nodes |= {str(index): Node(parent="0", speaker="assistant", text="b") for index in range(1, 50)}
    chat = ForeignChat(source="s", title="t", created_at=1.0, updated_at=1.0, nodes=nodes)
    assert len(imported_from(chat, "chats[0]", room=60_000).messages) == 50
    with pytest.raises(InvalidRequestError, match="more than 10000 characters together"):
        imported_from(chat, "chats[0]", room=10_000)


def test_answer_with_a_reply_and_a_continuation_keeps_both() -> None:
    nodes = {
        "greeting": Node(parent=None, speaker="assistant", text="Hello!", created_at=5.0),
        "q": Node(parent="greeting", speaker="user", text="x"),
        "a": Node(parent="q", speaker="assistant", text="a"),
        "q2": Node(parent="a", speaker="user", text="y"),
        "more": Node(parent="a", speaker="assistant", text="b"),
        "again": Node(parent=None, speaker="assistant", text="Hi!"),
    }
    chat = ForeignChat(source="s", title="t", created_at=1.0, updated_at=1.0, nodes=nodes, head="a")
    imported = imported_from(chat, "chats[0]", room=1000)
    assert [(each.role, each.content) for each in imported.messages] == [
        ("user", "…"),
        ("assistant", "Hello!"),
        ("user", "x"),
        ("assistant", "a"),
        ("user", "y"),
        ("assistant", "a\n\nb"),
        ("assistant", "Hi!"),
    ]
    question, *_, again = imported.messages
    assert (question.created_at, again.parent_id) == (5.0, question.id)
    assert imported.conversation.head_id == imported.messages[4].id
    assert chat.left_out == {}


def test_claude_keeps_attachments_thoughts_and_branches() -> None:
    def message(name: str, above: str, sender: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
        times = {"created_at": "2026-03-01T10:00:00.5Z"}
        return {"uuid": name, "parent_message_uuid": above, "sender": sender, "content": content, **times, **fields}

    text = {"type": "text", "text": "Read this."}
    pasted = {"file_name": 'a "b".txt', "extracted_content": "High water."}
    files = [{"file_name": "chart.png"}]
    messages = [
        message("q", ZERO, "human", text, attachments=[pasted, {"file_name": "c.pdf"}], files=files),
        message("a", "q", "assistant", {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Done."}),
        message("b", "q", "assistant", {"type": "tool_use", "name": "f"}, {"type": "text", "text": "Again."}),
    ]
    chat = only({"uuid": "u", "name": "Water", "created_at": "2026-03-01T10:00:00Z", "chat_messages": messages})
    assert shown(chat) == [
        ("user", "Read this.\n\n<file name=\"a 'b'.txt\">\nHigh water.\n</file>"),
        ("assistant", "Again."),
    ]
    first = chat.imported.messages[1]
    assert (first.content, first.reasoning, first.created_at) == ("Done.", "Hm.", 1_772_359_200.5)
    assert chat.left_out == {"files": 2, "tools": 1}


def test_older_claude_file_is_a_line() -> None:
    messages = [
        {"uuid": "1", "sender": "human", "text": "one"},
        {"uuid": "2", "sender": "human", "text": "two"},
        {"uuid": "3", "sender": "assistant", "text": "three"},
    ]
    chat = only({"uuid": "u", "name": "", "created_at": "2026-03-01T10:00:00Z", "chat_messages": messages})
    assert shown(chat) == [("user", "one\n\ntwo"), ("assistant", "three")]
    assert chat.imported.conversation.title is None


@pytest.mark.parametrize("name", ["messages", "messagesTree"])
def test_librechat_tree_of_any_depth_is_read(name: str) -> None:
    depth = 3_000
    # json.dumps would recurse.
    text = "".join(
        f'[{{"messageId": "m{index}", "isCreatedByUser": {str(index % 2 == 0).lower()}, "text": "{index}", "children": '
        for index in range(depth)
    )
    head = '{"conversationId": "c", "title": "Deep", "options": {"promptPrefix": "Be brief."}'
    body = f'{head}, "{name}": {text}[]{"}]" * depth}}}'
    file = read_any(body.encode())
    [chat] = file.chats
    assert (file.format, len(chat.imported.messages)) == ("librechat", depth)
    assert chat.imported.conversation.system_prompt == "Be brief."
    assert shown(chat)[-1] == ("assistant", str(depth - 1))


def test_flat_librechat_file_names_parents() -> None:
    def message(name: str, above: str, *, user: bool, **fields: Any) -> dict[str, Any]:
        return {"messageId": name, "parentMessageId": above, "isCreatedByUser": user, "text": name, **fields}

    think = [{"type": "think", "think": "Hm."}, {"type": "text", "text": {"value": "Yes."}}, {"type": "tool_call"}]
    feedback = {"rating": "thumbsDown", "tag": "not_matched", "text": "Too short."}
    file = {
        "conversationId": "c",
        "title": "Flat",
        "messages": [
            message("q", ZERO, user=True, createdAt="2026-01-01T00:00:00Z", files=[{"filename": "a.pdf"}]),
            message("a", "q", user=False, createdAt="2026-01-01T00:00:01Z", finish_reason="length", feedback=feedback),
            message("e", "q", user=False, error=True),
            message("b", "q", user=False, createdAt="2026-01-01T00:00:02Z", text="", content=think),
        ],
    }
    [chat] = read_any(json.dumps(file).encode()).chats
    assert shown(chat) == [("user", "q"), ("assistant", "Yes.")]
    assert [(each.status, each.finish_reason) for each in chat.imported.messages[1:]] == [
        ("incomplete", "length"),
        ("complete", "stop"),
    ]
    ratings = [(each.rating, each.rating_note) for each in chat.imported.messages]
    assert ratings == [(None, None), ("bad", "Too short."), (None, None)]
    assert chat.left_out == {"files": 1, "failed": 1, "tools": 1}


def test_open_webui_keeps_branches_and_reasoning() -> None:
    folded = '<details type="reasoning" done="true"><summary>Thought</summary>\n&gt; 2 &lt; 3\n</details>\nYes.'
    called = '<details type="tool_calls"><summary>Used</summary>18 C</details>Rain.'
    output = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "Hm."}]},
        {"type": "message", "content": [{"type": "output_text", "text": "No."}]},
    ]
    rated = {"rating": 1, "reason": "accurate_information", "comment": "Dry."}
    messages = {
        "q": {"id": "q", "parentId": None, "role": "user", "content": "<details> stay", "files": [{"type": "image"}]},
        "a": {"id": "a", "parentId": "q", "role": "assistant", "content": folded, "timestamp": 1_700_000_002},
        "b": {"id": "b", "parentId": "q", "role": "assistant", "content": called, "done": False, "annotation": rated},
        "c": {"id": "c", "parentId": "q", "role": "assistant", "content": "folded", "output": output},
    }
    inner = {"system": "Be kind.", "history": {"currentId": "b", "messages": messages}}
    wrapper = {"id": "x", "title": "Rain", "chat": inner, "created_at": 1_700_000_000, "pinned": True}
    chat = only(wrapper)
    assert shown(chat) == [("user", "<details> stay"), ("assistant", "Rain.")]
    stored = chat.imported.messages
    assert [(each.content, each.reasoning) for each in stored[1:]] == [
        ("Yes.", "2 < 3"),
        ("Rain.", None),
        ("No.", "Hm."),
    ]
    assert stored[2].status == "incomplete"
    assert [(each.rating, each.rating_note) for each in stored[1:]] == [(None, None), ("good", "Dry."), (None, None)]
    assert chat.imported.conversation.pinned
    assert chat.left_out == {"media": 1, "tools": 1}
    alone = only({"title": "Old", "history": inner["history"], "timestamp": 1_700_000_000_000})
    assert alone.imported.conversation.created_at == 1_700_000_000


def test_answers_of_one_time_keep_the_order_of_the_file() -> None:
    nodes = {"0": Node(parent=None, speaker="user", text="When?", created_at=1.0)}
    nodes |= {
        str(number): Node(parent="0", speaker="assistant", text=f"answer {number}", created_at=1.0)
        for number in range(1, 9)
    }
    chat = ForeignChat(nodes=nodes, head="8", title="Tides", source="a", created_at=1.0, updated_at=1.0)
    messages = sorted(imported_from(chat, "", 1_000).messages, key=lambda each: (each.created_at, each.id))
    assert [each.content for each in messages] == ["When?", *(f"answer {number}" for number in range(1, 9))]


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(1_700_000_000, 1.7e9), (1_700_000_000_250, 1_700_000_000.25), (1_700_000_000_250_000, 1_700_000_000.25)],
)
def test_times_keep_their_fractions(given: int, seconds: float) -> None:
    assert Checked({"at": given}).seconds("at") == seconds


def test_number_beyond_all_times_is_left_out() -> None:
    checked = Checked({"at": 10**400})
    assert checked.seconds("at") is None
    assert checked.left_out == {"other": 1}
