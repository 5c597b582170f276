"""The routes of the application by who may call them.

Every route must be in one of the tables. A new route fails `test_every_route_is_in_one_of_the_tables` until it is
in one. A table that is a dictionary has the body of each call.
"""

from typing import Any

Call = tuple[str, str]
"""Method and path of a route."""

OPEN = {
    ("GET", "/"),
    ("GET", "/live"),
    ("GET", "/admin"),
    ("GET", "/c/{id}"),
    ("GET", "/share/{secret}"),
    ("GET", "/preview.html"),
    ("GET", "/assets"),
    ("GET", "/{name}"),
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/openapi.json"),
    ("GET", "/api/login"),
    ("POST", "/api/login"),
    ("POST", "/api/login/password"),
    ("POST", "/api/login/start"),
    ("GET", "/login/callback"),
    ("POST", "/login/saml"),
    ("GET", "/login/saml/metadata"),
    ("POST", "/api/logout"),
}
PROVISIONING = {(method, "/scim/v2/{path:path}") for method in ("GET", "POST", "PUT", "PATCH", "DELETE")}
"""Routes with a token of their own."""
ADMIN: dict[Call, Any] = {
    ("GET", "/metrics"): None,
    ("GET", "/api/live"): None,
    ("GET", "/api/admin/keys"): None,
    ("POST", "/api/admin/keys"): {"name": "carol"},
    ("DELETE", "/api/admin/keys/{id}"): None,
    ("GET", "/api/admin/people"): None,
    ("POST", "/api/admin/people"): {"name": "carol"},
    ("POST", "/api/admin/people/{id}/password"): None,
    ("PATCH", "/api/admin/people/{id}"): {"disabled": True},
    ("POST", "/api/admin/replicas/{id}/drain"): None,
    ("GET", "/api/admin/tenants"): None,
    ("GET", "/api/admin/tenants/{tenant}/usage"): None,
    ("PUT", "/api/admin/tenants/{tenant}/limits"): {"conversations": 5},
    ("DELETE", "/api/admin/tenants/{tenant}"): None,
}
OWN: dict[Call, Any] = {
    ("GET", "/api/conversations/{id}"): None,
    ("PATCH", "/api/conversations/{id}"): {"title": "Bob's now"},
    ("DELETE", "/api/conversations/{id}"): None,
    ("DELETE", "/api/conversations/{id}?permanently=true"): None,
    ("DELETE", "/api/conversations/{busy}?permanently=true"): None,
    ("POST", "/api/conversations/{deleted}/restore"): None,
    ("POST", "/api/conversations/{id}/seen"): None,
    ("POST", "/api/conversations/{id}/messages"): {"content": "and?"},
    ("GET", "/api/conversations/{id}/tree"): None,
    ("GET", "/api/conversations/{id}/find?q=and"): None,
    ("PUT", "/api/conversations/{id}/head"): {"message_id": "{message}"},
    ("POST", "/api/conversations/{id}/fork"): {"message_id": "{message}"},
    ("POST", "/api/conversations/{id}/summary"): {"left_out": 2},
    ("GET", "/api/conversations/{id}/draft"): None,
    ("PUT", "/api/conversations/{id}/draft"): {"text": "Bob's"},
    ("POST", "/api/conversations/{id}/shares"): {},
    ("DELETE", "/api/shares/{share}"): None,
    ("PUT", "/api/folders/{folder}"): {"name": "Bob's"},
    ("DELETE", "/api/folders/{folder}"): None,
    ("PUT", "/api/presets/{preset}"): {"name": "Bob's"},
    ("DELETE", "/api/presets/{preset}"): None,
    ("PUT", "/api/prompts/{prompt}"): {"name": "Bob's", "text": "Bob's"},
    ("DELETE", "/api/prompts/{prompt}"): None,
    ("GET", "/api/files/{file}"): None,
    ("DELETE", "/api/files/{file}"): None,
    ("POST", "/api/conversations/{id}/warm"): None,
    ("DELETE", "/api/conversations/{id}/warm"): None,
    ("GET", "/api/conversations/{id}/export"): None,
    ("GET", "/api/conversations/{id}/export?format=markdown"): None,
    ("POST", "/api/messages/{message}/edit"): {"content": "Bob's"},
    ("PUT", "/api/messages/{message}/rating"): {"rating": "good"},
    ("POST", "/api/messages/{message}/retry"): {},
    ("POST", "/api/messages/{cut}/continue"): None,
    ("DELETE", "/api/messages/{message}"): None,
    ("POST", "/api/messages/{hidden}/restore"): None,
    ("GET", "/api/runs/{run}/events"): None,
    ("GET", "/api/runs/{stored}/events"): None,
    ("GET", "/api/runs/{run}/kv"): None,
    ("POST", "/api/runs/{live}/cancel"): None,
    ("POST", "/api/runs/{stored}/cancel"): None,
    ("GET", "/v1/responses/{response}"): None,
    ("GET", "/v1/responses/{response}?stream=true"): None,
    ("DELETE", "/v1/responses/{response}"): None,
    ("POST", "/v1/responses/{background}/cancel"): None,
    ("GET", "/v1/responses/{response}/input_items"): None,
    ("GET", "/v1/conversations/{id}"): None,
    ("POST", "/v1/conversations/{id}"): {"metadata": {"owner": "bob"}},
    ("DELETE", "/v1/conversations/{id}"): None,
    ("GET", "/v1/conversations/{id}/items"): None,
    ("POST", "/v1/conversations/{id}/items"): {"items": [{"role": "user", "content": "hi"}]},
    ("GET", "/v1/conversations/{id}/items/{message}"): None,
    ("DELETE", "/v1/conversations/{id}/items/{message}"): None,
}
"""Routes that address something with an owner. Names in braces are keys of `things_of_alice`."""

SHARED: dict[Call, Any] = {
    ("POST", "/v1/chat/completions"): {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]},
    ("POST", "/v1/completions"): {"model": "fake-1", "prompt": "hi"},
    ("POST", "/v1/embeddings"): {"model": "fake-1", "input": "hi"},
    ("POST", "/v1/messages"): {"model": "fake-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    ("POST", "/v1/messages/count_tokens"): {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]},
    ("POST", "/v1/responses"): {"model": "fake-1", "input": "hi"},
    ("POST", "/v1/responses/input_tokens"): {"input": "hi"},
    ("POST", "/v1/responses/compact"): {"model": "fake-1", "input": "hi"},
    ("POST", "/v1/conversations"): {},
    ("GET", "/v1/models"): None,
    ("GET", "/v1/models/{name:path}"): None,
    ("POST", "/api/chat"): {"model": "fake-1", "messages": [{"role": "user", "content": "hi"}]},
    ("POST", "/api/generate"): {"model": "fake-1", "prompt": "hi"},
    ("POST", "/api/embed"): {"model": "fake-1", "input": "hi"},
    ("POST", "/api/embeddings"): {"model": "fake-1", "prompt": "hi"},
    ("GET", "/api/tags"): None,
    ("GET", "/api/ps"): None,
    ("POST", "/api/show"): {"model": "fake-1"},
    ("GET", "/api/version"): None,
    ("POST", "/tokenize"): {"prompt": "hi"},
    ("POST", "/detokenize"): {"tokens": [65]},
    ("GET", "/tokenizer_info"): None,
    ("GET", "/api/account"): None,
    ("GET", "/api/account/usage"): None,
    ("GET", "/api/conversations"): None,
    ("POST", "/api/conversations"): {},
    ("DELETE", "/api/conversations"): None,
    ("GET", "/api/deleted-conversations"): None,
    ("DELETE", "/api/deleted-conversations"): None,
    ("GET", "/api/deleted-messages"): None,
    ("GET", "/api/draft"): None,
    ("PUT", "/api/draft"): {"text": "Bob's"},
    ("POST", "/api/conversations/bulk"): {"conversation_ids": ["conv_none"], "deleted": True},
    ("GET", "/api/shares"): None,
    ("GET", "/api/folders"): None,
    ("POST", "/api/folders"): {"name": "Bob's"},
    ("GET", "/api/presets"): None,
    ("POST", "/api/presets"): {"name": "Bob's"},
    ("GET", "/api/prompts"): None,
    ("POST", "/api/prompts"): {"name": "Bob's", "text": "Bob's"},
    ("GET", "/api/files"): None,
    ("POST", "/api/files"): {"name": "Bob's", "text": "Bob's"},
    ("POST", "/api/places"): {"conversation_ids": []},
    ("POST", "/api/prompt-size"): {"conversation_id": None, "content": "x", "system_prompt": None},
    ("GET", "/api/search"): None,
    ("GET", "/api/export"): None,
    ("POST", "/api/export"): {"conversation_ids": ["conv_none"]},
    ("POST", "/api/import"): {"format": "ebb-conversations", "format_version": 1, "conversations": []},
    ("POST", "/api/import/preview"): {"format": "ebb-conversations", "format_version": 1, "conversations": []},
}
"""Routes open to every tenant, each of which sees only its own data."""

FOLLOWED = {("GET", "/api/events")}
"""Streams without an end, each of one tenant: see test_events.py."""

OF_PERSONS = {
    ("GET", "/api/account/keys"),
    ("POST", "/api/account/keys"),
    ("DELETE", "/api/account/keys/{id}"),
    ("GET", "/api/account/sessions"),
    ("DELETE", "/api/account/sessions/{id}"),
    ("PUT", "/api/account/password"),
    ("POST", "/api/account/second-factor"),
    ("PUT", "/api/account/second-factor"),
    ("POST", "/api/account/second-factor/removal"),
}
"""Routes for people who have logged in, which no key opens."""

OF_FIRST_ADMIN = {
    ("GET", "/api/account/former-chats"),
    ("POST", "/api/account/former-chats"),
    ("DELETE", "/api/account/former-chats"),
}
"""Routes for the first administrator's key: see test_former_chats.py."""

STORED_NOWHERE = {("POST", "/api/document-text")}
"""Routes whose bodies are not JSON and leave nothing behind: see test_documents.py."""

REFUSED = {
    ("POST", "/api/pull"),
    ("POST", "/api/push"),
    ("POST", "/api/create"),
    ("POST", "/api/copy"),
    ("DELETE", "/api/delete"),
    ("POST", "/api/blobs/{digest}"),
}
"""Routes of Ollama that no tenant may use."""

GENERATING = ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses", "/api/chat", "/api/generate")


def without_names(call: Call) -> Call:
    """Turn a call of `OWN` into a route's path: each name becomes `{id}` or `{item_id}`, and the query is dropped."""
    method, path = call[0], call[1].partition("?")[0]
    parts = ["{id}" if part.startswith("{") and part not in ("{tenant}", "{name:path}") else part
             for part in path.split("/")]  # fmt: skip
    return method, "/".join(parts).replace("/items/{id}", "/items/{item_id}")
