"""Request bodies: valid ones for every schema, and ways in which careless or hostile clients spoil them."""

import json
import random
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from engine.testing.replay_engine import MODEL

_CHAT: Final = [{"role": "user", "content": "When is high tide?"}]
_ITEM: Final = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And at night?"}]}
_TOOL: Final = {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}

RIGHT: Final[Mapping[str, list[dict[str, Any]]]] = {
    "ChatCompletionRequest": [
        {"model": MODEL, "messages": _CHAT, "stream": True, "stream_options": {"include_usage": True}},
        {"model": MODEL, "messages": _CHAT, "max_tokens": 3, "temperature": 0.5, "stop": ["9"], "seed": -1},
    ],
    "CompletionRequest": [{"model": MODEL, "prompt": "Once"}, {"model": MODEL, "prompt": [72, 105], "stream": True}],
    "EmbeddingsRequest": [
        {"model": MODEL, "input": "Once", "encoding_format": "base64"},
        {"model": MODEL, "input": [[72, 105], [257]], "timeout": 5},
    ],
    "MessagesRequest": [{"model": MODEL, "messages": _CHAT, "max_tokens": 5, "system": "Be brief.", "stream": True}],
    "CountTokensRequest": [{"model": MODEL, "messages": _CHAT}],
    "OllamaChatRequest": [
        {"model": MODEL, "messages": _CHAT, "options": {"num_predict": 5, "seed": 3}},
        {"model": MODEL, "messages": _CHAT, "stream": False, "tools": [_TOOL], "think": False},
    ],
    "OllamaGenerateRequest": [
        {"model": MODEL, "prompt": "Once", "system": "Be brief."},
        {"model": MODEL, "prompt": "Once", "raw": True, "format": "json", "stream": False},
    ],
    "OllamaEmbedRequest": [{"model": MODEL, "input": ["Once", "Twice"], "truncate": False}, {"model": MODEL}],
    "OllamaEmbeddingsRequest": [{"model": MODEL, "prompt": "Once"}],
    "OllamaShowRequest": [{"model": MODEL}, {"name": MODEL}],
    "ResponseRequest": [
        {"model": MODEL, "input": "When is high tide?", "stream": True},
        {"model": MODEL, "input": [_ITEM], "background": True, "previous_response_id": "RESP"},
        {"model": MODEL, "input": "Hi", "conversation": "CONV", "max_output_tokens": 3, "metadata": {"a": "b"}},
    ],
    "InputTokensRequest": [{"model": MODEL, "input": [_ITEM]}, {"input": "Hi", "previous_response_id": "RESP"}],
    "CompactRequest": [{"model": MODEL, "input": [_ITEM]}, {"model": MODEL, "previous_response_id": "RESP"}],
    "NewConversation": [{"items": [_ITEM], "metadata": {"a": "b"}}, {}],
    "ConversationUpdate": [{"metadata": {"a": "b"}}],
    "ItemsToAdd": [{"items": [_ITEM, _ITEM]}],
    "LoginFields": [{"key": "ebb_none"}],
    "LoginStartFields": [{"next": "/c/abc?at=def"}, {}],
    "OwnKey": [{"name": "laptop"}],
    "PasswordLoginFields": [{"name": "ada", "password": "twelve gulls"}],
    "PasswordFields": [{"old_password": "twelve gulls", "new_password": "thirteen gulls"}],
    "OwnPassword": [{"password": "twelve gulls"}],
    "CodeFields": [{"code": "123456"}],
    "NewPerson": [{"name": "ada"}, {"name": "bob", "admin": True}],
    "PersonFields": [{"disabled": True}],
    "NewKey": [{"name": "alice", "tenant": "crew", "scope": "user"}, {"name": "bob"}],
    "LimitFields": [{"requests_per_minute": 60, "stored_bytes": 1 << 20}, {}],
    "TokenizeRequest": [{"prompt": "Once"}, {"messages": _CHAT}],
    "DetokenizeRequest": [{"tokens": [72, 105, 257]}],
    "ConversationFields": [{"title": "Tides", "params": {"temperature": 0.3}, "pinned": True}, {}],
    "NewMessage": [{"content": "When is high tide?"}, {"content": "And at night?", "parent_id": "MSG"}],
    "RetryFields": [{}, {"params": {"max_tokens": 2}}, {"merge": ["msg_none", "msg_other"]}],
    "EditedAnswer": [{"content": "Better."}],
    "RatingFields": [{"rating": "bad", "note": "Too long."}],
    "NewChat": [{"system_prompt": "Be brief.", "first_message": "When is high tide?"}, {"temporary": True}],
    "MessageChoice": [{"message_id": "MSG"}],
    "PresetFields": [{"name": "Calm", "params": {"temperature": 0.2}}, {"name": "Brief", "system_prompt": "Be brief."}],
    "SavedPromptFields": [{"name": "Translate", "text": "Translate into {{language}}:"}],
    "KeptFileFields": [{"name": "tides.txt", "text": "High water at six."}],
    "ShareFields": [{"days": 7, "receipts": True}, {}],
    "FolderFields": [{"name": "Sailing"}],
    "BulkFields": [{"conversation_ids": ["CONV"], "archived": True, "add_tags": ["sea"]}],
    "SelectedConversations": [{"conversation_ids": ["CONV", "conv_that-is-not-there"]}],
    "SummaryWanted": [{"left_out": 2}],
    "UnsentMessage": [{"conversation_id": None, "content": "x", "system_prompt": None}],
    "PlacesWanted": [{"conversation_ids": ["CONV", "conv_that-is-not-there"]}, {"conversation_ids": []}],
    "DraftFields": [{"text": "When is"}],
    "ImportFile": [
        {
            "format": "ebb-conversations",
            "format_version": 1,
            "conversations": [
                {
                    "id": "c",
                    "title": "Tides",
                    "params": {},
                    "created_at": 1.0,
                    "updated_at": 2.0,
                    "head_id": "b",
                    "messages": [
                        {"id": "a", "parent_id": None, "role": "user", "content": "?", "status": "complete",
                         "created_at": 1.0},
                        {"id": "b", "parent_id": "a", "role": "assistant", "content": "!", "status": "complete",
                         "created_at": 1.5},
                    ],
                }
            ],
        }
    ],
}  # fmt: skip

HOSTILE_VALUES: Final[list[Any]] = [
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, 5e-324, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, "", " ", "\0",
    "a\0b",
    "\ud800", "\U0001f30a" * 50, "\u202e\u2028\x85", "x" * 5000, "%s%n{0}", "' OR 1=1 --", "../../etc/passwd", [], {},
    [[]], [None], {"": ""}, {"$ref": "#"}, "NaN", "msg_" + "a" * 40, [1, "2", None], {"role": "user"}, "<|im_end|>",
]  # fmt: skip
_DEEP: Final = 5000
_LARGE: Final = 3_900_000


def body_for(schema: str, source: random.Random, ids: Mapping[str, str]) -> bytes:
    """Make a body for a route with that schema.

    schema: name of the schema; "" for a route without a body.
    ids: values that replace CONV, MSG and RESP.
    """
    right = source.choice(RIGHT[schema]) if schema in RIGHT else {}
    value = _named(json.loads(json.dumps(right)), ids)
    kind = source.random()
    if kind < 0.3:
        return json.dumps(value).encode()
    for _ in range(source.choice((1, 1, 2, 3))):
        _spoil(value, source)
    text = json.dumps(value)
    return text.encode() if kind < 0.75 else _broken(text, source)


def _named(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _named(each, ids) for name, each in value.items()}
    if isinstance(value, list):
        return [_named(each, ids) for each in value]
    return ids.get(value, value) if isinstance(value, str) else value


def _spoil(value: Any, source: random.Random) -> None:
    """Change something at a random depth of `value`."""
    inner = [each for each in (value.values() if isinstance(value, dict) else value) if isinstance(each, dict | list)]
    if inner and source.random() < 0.5:
        _spoil(source.choice(inner), source)
        return
    hostile = deepcopy(source.choice(HOSTILE_VALUES))
    if isinstance(value, list):
        if value and source.random() < 0.5:
            value[source.randrange(len(value))] = hostile
        else:
            value.extend([hostile] * source.choice((1, 1, 30)))
    elif value and source.random() < 0.8:
        name = source.choice(list(value))
        if source.random() < 0.25:
            del value[name]
        else:
            value[name] = hostile
    else:
        value[source.choice(("no_such_field", "", "__proto__", "model", "stream", "tools", "timeout", "n"))] = hostile


def _broken(text: str, source: random.Random) -> bytes:
    """Turn the text into invalid JSON, or into JSON that no ordinary client writes."""
    raw = text.encode()
    at = source.randrange(len(raw) + 1)
    match source.randrange(9):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + source.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\0", b"\xf4\x90\x80\x80")) + raw[at:]
        case 2:
            return b'{"model":' + b"[" * _DEEP + b"]" * _DEEP + b"}"
        case 3:
            return b'{"messages":' + b'{"a":' * _DEEP + b"1" + b"}" * _DEEP + b"}"
        case 4:
            return b"[" + raw + b"]" if raw != b"{}" else b"null"
        case 5:
            return raw[:-1] + (b"," if len(raw) > 2 else b"") + b'"model":1,"model":2}'
        case 6:
            return source.choice((b"NaN", b"[1", b"\xef\xbb\xbf{}", b'"x"', b"1e999", b"-", b"{}{}", b"{'a':1}", b"\0"))
        case 7 if source.random() < 0.02:
            return b'{"prompt":"' + b"x" * _LARGE + b'"}'
        case _:
            return raw.replace(b"1", b"1" * 500, 1)
