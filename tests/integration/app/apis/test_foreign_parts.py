"""Pictures and parts of other servers' answers: a note takes their place, and the response names them."""

from typing import Any

import aiohttp
import pytest

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]

URL = "data:image/png;base64,aGk="
SOURCE = {"type": "base64", "media_type": "image/png", "data": "aGk="}
TEXT = {"type": "text", "text": "What is it?"}
PLAIN = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Dogs bark."}}
FOUND = {"type": "search_result", "source": "https://a.example", "title": "Dogs", "content": [TEXT]}
WEB = {"type": "web_search_tool_result", "tool_use_id": "1", "content": [
    {"type": "web_search_result", "title": "Dogs", "url": "https://a.example", "encrypted_content": "c2VjcmV0"}
]}  # fmt: skip
SEARCH = {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {"query": "dogs"}}
SHELL: list[Any] = [
    {"type": "local_shell_call", "id": "1", "call_id": "1", "status": "completed", "action": {"command": ["ls", "-l"]}},
    {"type": "local_shell_call_output", "id": "1", "output": "a.py"},
]


def of_chat(*parts: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}], "max_tokens": 4}


def of_responses(*items: Any) -> dict[str, Any]:
    return {"input": [*items, {"role": "user", "content": "And?"}]}


CASES: dict[str, tuple[str, dict[str, Any], str, list[str]]] = {
    "chat": (
        "/v1/chat/completions",
        of_chat(TEXT, {"type": "image_url", "image_url": {"url": URL}}),
        "content.image_url",
        ["What is it?", "[image_url omitted: this model reads text only]"],
    ),
    "file": (
        "/v1/chat/completions",
        of_chat(TEXT, {"type": "file", "file": {"file_data": URL, "filename": "a.pdf"}}),
        "content.file",
        ["What is it?"],
    ),
    "refusal": (
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "refusal": "No."}]},
        "",
        ["No."],
    ),
    "messages": (
        "/v1/messages",
        of_chat({"type": "image", "source": SOURCE}, TEXT),
        "content.image",
        ["[image omitted: this model reads text only]", "What is it?"],
    ),
    "document": ("/v1/messages", of_chat(PLAIN, FOUND), "content.document, content.search_result", ["Dogs bark."]),
    "search": (
        "/v1/messages",
        {
            "max_tokens": 4,
            "messages": [
                {"role": "user", "content": "Dogs?"},
                {"role": "assistant", "content": [SEARCH, WEB, TEXT]},
                {"role": "user", "content": "And?"},
            ],
        },
        "content.web_search_tool_result",
        ["<tool\nDogs\nhttps://a.example>", "<assistant\nWhat is it?>"],
    ),
    "responses": (
        "/v1/responses",
        of_responses({"role": "user", "content": [{"type": "input_image", "image_url": URL, "detail": "auto"}]}),
        "content.input_image",
        ["[input_image omitted: this model reads text only]"],
    ),
    "picture of a tool": (
        "/v1/responses",
        of_responses(
            {"type": "function_call", "call_id": "1", "name": "view_image", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_image", "image_url": URL}]},
        ),
        "content.input_image",
        ["<tool\n[input_image omitted: this model reads text only]>"],
    ),
    "shell": (
        "/v1/responses",
        of_responses(*SHELL),
        "input.local_shell_call, input.local_shell_call_output",
        ["<assistant\nls\n-l>", "<user\na.py>"],
    ),
    "sealed": (
        "/v1/responses",
        of_responses({"type": "compaction", "encrypted_content": "c2VjcmV0"}),
        "input.compaction",
        ["[compaction omitted: only the server that made it can read it]"],
    ),
    "ollama chat": (
        "/api/chat",
        {"messages": [{"role": "user", "content": "What is it?", "images": ["aGk="]}]},
        "images",
        ["[image omitted: this model reads text only]\nWhat is it?"],
    ),
    "ollama generate": (
        "/api/generate",
        {"prompt": "What is it?", "images": ["aGk=", "aGk="]},
        "images",
        ["[image omitted: this model reads text only]\n" * 2 + "What is it?"],
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_note_stands_in_place_of_foreign_part(api: Api, http: aiohttp.ClientSession, case: str) -> None:
    route, body, named, said = CASES[case]
    response = await http.post(route, json={"model": "fake-1", **body})
    assert response.status == 200, await response.text()
    assert response.headers.get("X-Ebb-Ignored", "") == named
    prompt = text_of(api.engine.requests[0].prompt)
    assert [text for text in said if text not in prompt] == []
    assert "aGk=" not in prompt
    assert "c2VjcmV0" not in prompt


async def test_stored_response_continues_after_a_picture(api: Api, http: aiohttp.ClientSession) -> None:
    body = CASES["responses"][1]
    first = await (await http.post("/v1/responses", json={"model": "fake-1", **body})).json()
    again = {"model": "fake-1", "input": "And?", "previous_response_id": first["id"]}
    assert (await http.post("/v1/responses", json=again)).status == 200
    before, after = api.engine.requests
    assert after.prompt[: len(before.prompt)] == before.prompt


async def test_foreign_items_are_added_to_a_conversation(http: aiohttp.ClientSession) -> None:
    made = await http.post("/v1/conversations", json={"items": SHELL})
    assert made.status == 200
    listed = await (await http.get(f"/v1/conversations/{(await made.json())['id']}/items?order=asc")).json()
    assert [item["role"] for item in listed["data"]] == ["assistant", "user"]
