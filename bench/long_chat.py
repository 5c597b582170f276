"""Long chats, in the formats that chat pages take them in. Every answer is Markdown."""

from collections.abc import Sequence
from typing import Any

from bench.page_answer import MARKDOWN


def text_of(number: int) -> str:
    """Return the text of a message: of a question if the number is even, else of an answer."""
    return f"Message {number} of the log." + (MARKDOWN if number % 2 else "")


def ebb_file(texts: Sequence[str]) -> dict[str, Any]:
    """Build a chat of questions and answers in turn as a file for Ebb's import."""
    ids = [None, *(f"msg_page_streaming_{number}" for number in range(len(texts)))]
    said = [
        {
            "id": ids[number + 1],
            "parent_id": ids[number],
            "role": ("user", "assistant")[number % 2],
            "content": text,
            "status": "complete",
            "created_at": float(number),
            "completed_at": float(number),
        }
        for number, text in enumerate(texts)
    ]
    chat: dict[str, Any] = {
        "id": "conv_page_streaming",
        "title": "A long log",
        "title_source": "user",
        "system_prompt": None,
        "params": {},
        "pinned": False,
        "archived": False,
        "created_at": 0.0,
        "updated_at": 0.0,
        "head_id": ids[-1],
        "messages": said,
    }
    return {"format": "ebb-conversations", "format_version": 1, "exported_at": 0.0, "conversations": [chat]}


def open_webui_body(messages: int, model: str) -> dict[str, Any]:
    """Build a long chat as a body of Open WebUI's `POST /api/v1/chats/new`."""
    ids = [f"message-{number}" for number in range(messages)]
    said = {
        name: {
            "id": name,
            "parentId": ids[number - 1] if number else None,
            "childrenIds": ids[number + 1 : number + 2],
            "role": ("user", "assistant")[number % 2],
            "content": text_of(number),
            "timestamp": number,
            "models": [model],
            "model": model,
            "done": True,
        }
        for number, name in enumerate(ids)
    }
    history = {"currentId": ids[-1], "messages": said}
    return {"chat": {"title": "A long log", "models": [model], "history": history, "messages": list(said.values())}}
