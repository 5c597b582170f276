"""Requests that the tests of the conversation routes share."""

from typing import Any

import aiohttp

from tests.integration.sse_events import all_events


async def created(http: aiohttp.ClientSession, **fields: Any) -> str:
    """Create a conversation and return its id."""
    response = await http.post("/api/conversations", json=fields)
    assert response.status == 201
    return str((await response.json())["id"])


async def said(http: aiohttp.ClientSession, conversation_id: str, content: str, **fields: Any) -> dict[str, Any]:
    """Send a message, wait for the end of the run, and return the answer's message as the API represents it."""
    body = {"content": content, **fields}
    response = await http.post(f"/api/conversations/{conversation_id}/messages", json=body)
    assert response.status == 200, await response.text()
    message: dict[str, Any] = (await all_events(response))[-1].data["message"]
    return message


async def read(http: aiohttp.ClientSession, path: str, **params: str) -> dict[str, Any]:
    """Return the JSON of GET `path`, which must have status 200."""
    response = await http.get(path, params=params)
    assert response.status == 200, await response.text()
    found: dict[str, Any] = await response.json()
    return found


async def shown(http: aiohttp.ClientSession, conversation_id: str) -> dict[str, Any]:
    """Return a conversation with the messages of its current path."""
    return await read(http, f"/api/conversations/{conversation_id}")


async def error_of(response: aiohttp.ClientResponse, status: int) -> dict[str, Any]:
    """Return the error of `response`, which must have this status."""
    assert response.status == status, await response.text()
    error: dict[str, Any] = (await response.json())["error"]
    return error
