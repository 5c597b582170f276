"""Small exports of each application, with all that its real ones have: branches, reasoning, tools, files and pictures.

Each text of a question, an answer or its reasoning is a word that the file has once, such as `word12`.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

ZERO: Final = "00000000-0000-0000-0000-000000000000"
PICTURE: Final = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://a", "size_bytes": 5}

Json = dict[str, Any]


def words(begin: int) -> Iterator[str]:
    return (f"word{number}" for number in count(begin))


def chatgpt(begin: int) -> Json:
    word = words(begin)

    def node(name: str, parent: str | None, role: str, content: Json, *children: str, **fields: Any) -> Json:
        author: Json = {"role": role, "name": None, "metadata": {}}
        known = {"id": name, "author": author, "create_time": 1_700_000_001.5, "status": "finished_successfully"}
        message = {**known, "content": content, "metadata": {}, "recipient": "all", "weight": 1.0, **fields}
        return {"id": name, "message": message, "parent": parent, "children": list(children)}

    def said(*parts: Any) -> Json:
        return {"content_type": "multimodal_text" if len(parts) > 1 else "text", "parts": list(parts)}

    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": next(word), "chunks": []}]}
    document = '{"name": "Plan", "type": "document", "content": "' + next(word) + '"}'
    reference = {"matched_text": "\ue200cite\ue202turn0search0\ue201", "alt": "([a](https://a))", "type": "webpage"}
    answer = said(next(word) + "\ue200cite\ue202turn0search0\ue201")
    mapping = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["sys"]},
        "sys": node("sys", "root", "system", said(""), "q1"),
        "q1": node("q1", "sys", "user", said(PICTURE, next(word)), "t1", "a2"),
        "t1": node("t1", "q1", "assistant", thoughts, "c1"),
        "c1": node("c1", "t1", "assistant", {"content_type": "code", "text": "search()"}, "r1", recipient="web"),
        "r1": node("r1", "c1", "tool", said("found"), "a1"),
        "a1": node("a1", "r1", "assistant", answer, "q2", metadata={"content_references": [reference]}),
        "a2": node("a2", "q1", "assistant", said(next(word))),
        "q2": node("q2", "a1", "user", said(next(word)), "d2", metadata={"attachments": [{"name": "a.pdf"}]}),
        "d2": node(
            "d2", "q2", "assistant", {"content_type": "code", "text": document}, recipient="canmore.create_textdoc"
        ),
    }
    times = {"create_time": 1_700_000_000.5, "update_time": 1_700_000_100.5}
    known = {"conversation_id": f"c{begin}", "id": f"c{begin}", "is_archived": False, "is_starred": None}
    return {"title": f"Chat {begin}", **times, "mapping": mapping, "current_node": "d2", **known}


def claude(begin: int) -> Json:
    word = words(begin)

    def message(name: str, parent: str, sender: str, *blocks: Json, **fields: Any) -> Json:
        times = {"created_at": "2026-03-01T10:00:00.5Z", "updated_at": "2026-03-01T10:00:00.5Z"}
        known = {"uuid": name, "text": "", "content": list(blocks), "sender": sender, **times}
        return {**known, "attachments": [], "files": [], "parent_message_uuid": parent, **fields}

    def text(each: str) -> Json:
        return {"type": "text", "text": each, "citations": []}

    pasted = {"file_name": "a.txt", "file_size": 5, "file_type": "txt", "extracted_content": next(word)}
    messages = [
        message("q1", ZERO, "human", text(next(word)), attachments=[pasted], files=[{"file_name": "b.png"}]),
        message("a1", "q1", "assistant", {"type": "thinking", "thinking": next(word)}, text(next(word))),
        message("a2", "q1", "assistant", {"type": "tool_use", "name": "f"}, text(next(word))),
        message("q2", "a2", "human", text=next(word)),
        message("a3", "q2", "assistant", text(next(word))),
    ]
    known = {"uuid": f"c{begin}", "name": f"Chat {begin}", "summary": "", "account": {"uuid": "u"}}
    times = {"created_at": "2026-03-01T10:00:00Z", "updated_at": "2026-03-01T10:00:09Z"}
    return {**known, **times, "chat_messages": messages}


def librechat_message(name: str, parent: str, *, user: bool, **fields: Any) -> Json:
    known = {"messageId": name, "parentMessageId": parent, "isCreatedByUser": user, "sender": "User" if user else "M"}
    times = {"createdAt": "2026-01-01T00:00:00.5Z", "updatedAt": "2026-01-01T00:00:00.5Z"}
    return {**known, **times, "text": "", "error": False, "unfinished": False, "model": "m", **fields}


def librechat(begin: int) -> Json:
    word = words(begin)
    think = [{"type": "think", "think": next(word)}, {"type": "text", "text": {"value": next(word)}}]
    picture = {"type": "image_url", "image_url": {"url": "a"}}
    messages = [
        librechat_message("q1", ZERO, user=True, text=next(word), files=[{"filename": "a.pdf"}]),
        librechat_message("a1", "q1", user=False, content=[*think, {"type": "tool_call", "tool_call": {}}, picture]),
        librechat_message("a2", "q1", user=False, text=next(word), feedback={"rating": "thumbsUp", "text": "t"}),
        librechat_message("q2", "a2", user=True, text=next(word)),
        librechat_message("a3", "q2", user=False, text=next(word), finish_reason="length"),
    ]
    options = {"promptPrefix": "Be brief.", "model": "m", "presetId": None}
    known = {"conversationId": f"c{begin}", "endpoint": "openAI", "title": f"Chat {begin}", "branches": True}
    return {**known, "exportAt": "10:00", "recursive": False, "options": options, "messages": messages}


def librechat_tree(begin: int) -> Json:
    """Return the same chat as a tree, as earlier versions wrote it."""
    flat = librechat(begin)
    messages = {each["messageId"]: {**each, "children": []} for each in flat.pop("messages")}
    for each in messages.values():
        if (parent := each.pop("parentMessageId")) in messages:
            messages[parent]["children"].append(each)
    return {**flat, "recursive": True, "messagesTree": [messages["q1"]]}


def open_webui(begin: int) -> Json:
    word = words(begin)

    def message(name: str, parent: str | None, role: str, content: Any, *children: str, **fields: Any) -> Json:
        known = {"id": name, "parentId": parent, "childrenIds": list(children), "role": role, "content": content}
        return {**known, "timestamp": 1_700_000_001, **fields}

    folded = f'<details type="reasoning" done="true"><summary>Thought</summary>\n&gt; {next(word)}\n</details>\n'
    part = {"type": "output_text", "text": next(word)}
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": next(word)}], "content": []},
        {"type": "function_call", "name": "f", "arguments": "{}"},
        {"type": "message", "content": [part]},
    ]
    rated = {"rating": 1, "comment": "c"}
    messages = {
        "q1": message("q1", None, "user", next(word), "a1", "a2", files=[{"type": "image", "url": "a"}]),
        "a1": message("a1", "q1", "assistant", folded + next(word), done=True, annotation=rated),
        "a2": message("a2", "q1", "assistant", "x", "q2", output=output, done=True, model="m"),
        "q2": message("q2", "a2", "user", [{"type": "text", "text": next(word)}, {"type": "image_url"}], "a3"),
        "a3": message("a3", "q2", "assistant", next(word), done=False),
    }
    inner = {"title": f"Chat {begin}", "models": ["m"], "params": {"system": "Be kind."}, "tags": []}
    history = {"messages": messages, "currentId": "a3"}
    known = {"id": f"c{begin}", "user_id": "u", "title": f"Chat {begin}", "pinned": False, "archived": False}
    times = {"created_at": 1_700_000_000, "updated_at": 1_700_000_100}
    return {**known, **times, "chat": {**inner, "history": history}, "meta": {"tags": ["sea"]}}


def llama_cpp(begin: int) -> Json:
    word = words(begin)
    chat = f"c{begin}"

    def message(name: str, parent: str | None, role: str, content: str, *children: str, **fields: Any) -> Json:
        known = {"id": name, "convId": chat, "type": "text", "timestamp": 1_751_809_801_000, "role": role}
        return {**known, "content": content, "parent": parent, "children": list(children), **fields}

    calls = [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    extra = [
        {"type": "TEXT", "name": "a.txt", "content": next(word)},
        {"type": "IMAGE", "name": "b.png", "base64Url": "data:image/png;base64,iVBO"},
    ]
    messages = [
        message("root", None, "system", "", "sys", type="root"),
        message("sys", "root", "system", "Be brief.", "q1", type="system"),
        message("q1", "sys", "user", next(word), "a1", "a2", extra=extra),
        message("a1", "q1", "assistant", next(word), reasoningContent=next(word), model="m", timings={"cache_n": 1}),
        message("a2", "q1", "assistant", next(word), "t2", toolCalls=calls),
        message("t2", "a2", "tool", "found", "a3", toolCallId="t"),
        message("a3", "t2", "assistant", next(word), "q2"),
        message("q2", "a3", "user", next(word)),
    ]
    head = {"id": chat, "name": f"Chat {begin}", "lastModified": 1_751_809_805_123, "currNode": "q2", "pinned": True}
    return {"conv": head, "messages": messages}


def llama_cpp_lines(chats: list[Json]) -> list[Json]:
    """Return the records of the same chats, each of which later versions write to a separate line."""
    return [
        record
        for chat in chats
        for record in (
            {"harness": "llama.app", "type": "session", **chat["conv"]},
            *({"message": message, "type": "message"} for message in chat["messages"]),
        )
    ]


EXPORTS: Final[dict[str, Callable[[int], Json]]] = {
    "chatgpt": chatgpt,
    "claude": claude,
    "librechat": librechat,
    "librechat tree": librechat_tree,
    "llama-cpp": llama_cpp,
    "open-webui": open_webui,
}
