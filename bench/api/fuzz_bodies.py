"""Request bodies: examples of the API's own document, and ways in which careless or hostile clients spoil them."""

import json
import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

HOSTILE_VALUES: Final[list[Any]] = [
    None, True, False, 0, -1, 1, 1.5, -0.0, 1e308, 5e-324, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, "", " ", "\0",
    "a\0b",
    "\ud800", "\U0001f30a" * 50, "\u202e\u2028\x85", "x" * 5000, "%s%n{0}", "' OR 1=1 --", "../../etc/passwd", [], {},
    [[]], [None], {"": ""}, {"$ref": "#"}, "NaN", "msg_" + "a" * 40, [1, "2", None], {"role": "user"}, "<|im_end|>",
]  # fmt: skip
_DEEP: Final = 5000
_LARGE: Final = 3_900_000


def body_for(examples: Sequence[Any], source: random.Random, named: Mapping[str, str]) -> bytes:
    """Make a body for an operation.

    examples: valid bodies; none for an operation without a body.
    named: values that replace names in them.
    """
    value = _named(json.loads(json.dumps(source.choice(examples) if examples else {})), named)
    kind = source.random()
    if kind < 0.3:
        return json.dumps(value).encode()
    for _ in range(source.choice((1, 1, 2, 3))):
        _spoil(value, source)
    text = json.dumps(value)
    return text.encode() if kind < 0.75 else _broken(text, source)


def _named(value: Any, named: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _named(each, named) for name, each in value.items()}
    if isinstance(value, list):
        return [_named(each, named) for each in value]
    return named.get(value, value) if isinstance(value, str) else value


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
