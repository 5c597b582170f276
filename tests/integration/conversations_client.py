"""What tests of the routes of conversations ask for again and again."""

from typing import Any

import aiohttp

from tests.integration.sse_events import all_events


async def created(http: aiohttp.ClientSession, **fields: Any) -> str:
    """The id of a new conversation."""
    response = await http.post("/api/conversations", json=fields)
    assert response.status == 201
    return str((await response.json())["id"])


async def said(http: aiohttp.ClientSession, conversation_id: str, content: str, **fields: Any) -> dict[str, Any]:
    """The answer to a question."""
    body = {"content": content, **fields}
    response = await http.post(f"/api/conversations/{conversation_id}/messages", json=body)
    assert response.status == 200, await response.text()
    message: dict[str, Any] = (await all_events(response))[-1].data["message"]
    return message


async def read(http: aiohttp.ClientSession, path: str, **params: str) -> dict[str, Any]:
    """What is there."""
    response = await http.get(path, params=params)
    assert response.status == 200, await response.text()
    found: dict[str, Any] = await response.json()
    return found


async def shown(http: aiohttp.ClientSession, conversation_id: str) -> dict[str, Any]:
    """A conversation with its path."""
    return await read(http, f"/api/conversations/{conversation_id}")


async def error_of(response: aiohttp.ClientResponse, status: int) -> dict[str, Any]:
    """The error, which has the status that was expected."""
    assert response.status == status, await response.text()
    error: dict[str, Any] = (await response.json())["error"]
    return error
