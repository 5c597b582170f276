"""The operations of the application by who may call them, each with the body that tests send.

A new operation is in the table of its access. `test_every_route_has_an_operation` compares them with the routes.
"""

from collections.abc import Mapping
from typing import Any

from app import openapi
from app.http.operation import Operation, RawBody
from app.routes import ollama, scim
from app.routes.api import OPERATIONS
from app.routes.pages import page_operations
from app.schemas import examples
from engine.testing.replay_engine import MODEL

Call = tuple[str, str]
"""Method and path of a route."""

NAMES = {
    examples.MODEL: MODEL,
    examples.CONVERSATION: "{id}",
    examples.MESSAGE: "{message}",
    examples.RESPONSE: "{response}",
}
"""Values of examples, and what stands for them. Names in braces are keys of `things_of_alice`."""

THINGS = {
    "conversations": "{id}",
    "messages": "{message}",
    "items": "{message}",
    "shares": "{share}",
    "folders": "{folder}",
    "presets": "{preset}",
    "prompts": "{prompt}",
    "files": "{file}",
    "runs": "{run}",
    "responses": "{response}",
}
"""Things that a path addresses, by the part of the path before their ids."""

SPECIAL = {
    ("POST", "/api/conversations/{id}/restore"): "{deleted}",
    ("POST", "/api/messages/{id}/continue"): "{cut}",
    ("POST", "/api/messages/{id}/restore"): "{hidden}",
    ("POST", "/api/runs/{id}/cancel"): "{live}",
    ("POST", "/v1/responses/{id}/cancel"): "{background}",
}
"""Things in the one state in which an operation works."""


def named(value: Any) -> Any:
    """Return a value of an example with names in place of its ids."""
    if isinstance(value, dict):
        return {name: named(each) for name, each in value.items()}
    if isinstance(value, list):
        return [named(each) for each in value]
    return NAMES.get(value, value) if isinstance(value, str) else value


def body_of(operation: Operation) -> Any:
    """Return the first example of an operation's body; None without one."""
    return named(next(iter(operation.model.examples), {})) if operation.model is not None else None


def call_of(operation: Operation) -> Call:
    """Return the method and the path as the routes have them."""
    return operation.method, operation.path


def addressed(operation: Operation) -> Call:
    """Return the call of an operation on a thing with an owner, with every parameter that it requires."""
    parts = operation.path.split("/")
    for place in (place for place, part in enumerate(parts) if part.startswith("{")):
        parts[place] = SPECIAL.get(call_of(operation), THINGS[parts[place - 1]])
    query = "&".join(f"{each.name}=and" for each in operation.query.declared.values() if each.is_required)
    return operation.method, "/".join(parts) + (f"?{query}" if query else "")


def is_special(operation: Operation) -> bool:
    """Return whether an operation has tests apart from the tables."""
    return not operation.counts or call_of(operation) in OF_PERSONS | OF_FIRST_ADMIN | STORED_NOWHERE | REFUSED


VIEWS = {call_of(each) for each in page_operations()} | {("GET", "/assets"), ("GET", "/{name}")}
OPEN = VIEWS | {call_of(each) for each in (*OPERATIONS, *openapi.operations) if each.access == "open"}
PROVISIONING = {(method, each.path) for each in scim.operations for method in each.methods}
"""Routes with a token of their own."""
ADMIN: Mapping[Call, Any] = {call_of(each): body_of(each) for each in OPERATIONS if each.access == "admin"}

_OF_USERS = [each for each in OPERATIONS if each.access == "user"]
FOLLOWED = {call_of(each) for each in _OF_USERS if not each.counts}
"""Streams without an end, each of one tenant: see test_events.py."""
OF_FIRST_ADMIN = {call_of(each) for each in _OF_USERS if each.path == "/api/account/former-chats"}
"""Routes for the first administrator's key: see test_former_chats.py."""
OF_PERSONS = {
    call_of(each)
    for each in _OF_USERS
    if each.path.startswith("/api/account/") and each.path not in ("/api/account/usage", "/api/account/former-chats")
}
"""Routes for people who have logged in, which no key opens."""
STORED_NOWHERE = {call_of(each) for each in _OF_USERS if isinstance(each.body, RawBody)}
"""Routes whose bodies are not JSON and leave nothing behind: see test_documents.py."""
REFUSED = {call_of(each) for each in ollama.operations if each.endpoint is ollama.refuse_change}
"""Routes of Ollama that no tenant may use."""

OWN: Mapping[Call, Any] = {
    **{addressed(each): body_of(each) for each in _OF_USERS if "{id}" in each.path and not is_special(each)},
    ("DELETE", "/api/conversations/{id}?permanently=true"): None,
    ("DELETE", "/api/conversations/{busy}?permanently=true"): None,
    ("GET", "/api/conversations/{id}/export?format=markdown"): None,
    ("GET", "/api/runs/{stored}/events"): None,
    ("POST", "/api/runs/{stored}/cancel"): None,
    ("GET", "/v1/responses/{response}?stream=true"): None,
}
"""Calls of routes that address something with an owner."""
SHARED: Mapping[Call, Any] = {
    call_of(each): body_of(each) for each in _OF_USERS if "{id}" not in each.path and not is_special(each)
}
"""Routes open to every tenant, each of which sees only its own data."""

GENERATING = ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses", "/api/chat", "/api/generate")


def without_names(call: Call) -> Call:
    """Turn a call of `OWN` into a route's path: each name becomes `{id}` or `{item_id}`, and the query is dropped."""
    method, path = call[0], call[1].partition("?")[0]
    parts = ["{id}" if part.startswith("{") and part not in ("{tenant}", "{name:path}") else part
             for part in path.split("/")]  # fmt: skip
    return method, "/".join(parts).replace("/items/{id}", "/items/{item_id}")
