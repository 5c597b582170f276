"""The exact token ids of a conversation: what the engine saw and produced, never tokenised a second time.

A user message keeps the ids between the answer before it and the place where its own answer begins (end of turn, the
message, generation prompt); an assistant message keeps the ids that were produced. So the ids of a path, joined, are
the prompt, and the prompt of one turn is a prefix of the next one's: that is what lets its KV blocks be found again.

A message without a key was never tokenised for itself: of several messages that were said at once, or left in a
conversation until an answer was asked for, the last one has a key and the ids of all of them.

Ids mean something under one tokenizer, template and system prompt only, which `prompt_key` names. Where it changes
inside a path, the next user message holds the whole prompt rendered anew, marked by `starts_prompt`, and what is above
it no longer counts.
"""

import hashlib
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

ID_BYTES = 4
"""Of one id, packed."""


@dataclass(frozen=True, slots=True)
class MessageTokens:
    """ids: uint32, little-endian, packed."""

    ids: bytes = b""
    prompt_key: str = ""
    starts_prompt: bool = False


def pack_ids(ids: Iterable[int]) -> bytes:
    """Token ids -> little-endian uint32."""
    packed = array("I", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack_ids(packed: bytes) -> list[int]:
    """Little-endian uint32 -> token ids."""
    ids = array("I")
    ids.frombytes(packed)
    if sys.byteorder == "big":
        ids.byteswap()
    return ids.tolist()


def prompt_key(prompt_identity: str, system_prompt: str | None, tools: str = "") -> str:
    """Names what must be equal for stored ids to be used. `prompt_identity` stands for tokenizer and template; tools:
    what the prompt tells of them."""
    told = f"\0{tools}" if tools else ""
    return hashlib.sha256(f"{prompt_identity}\0{system_prompt or ''}{told}".encode()).hexdigest()[:32]


def num_common(one: bytes, other: bytes) -> int:
    """How many of the first packed ids are equal."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high // ID_BYTES
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle)
    return low // ID_BYTES


def joined_ids(path: Sequence[MessageTokens], key: str) -> list[int] | None:
    """The token ids of a path (root first) up to and including its last message; None if they cannot be used."""
    start = max((index for index, tokens in enumerate(path) if tokens.starts_prompt), default=None)
    if start is None or path[-1].prompt_key != key:
        return None
    if any(tokens.prompt_key not in ("", key) for tokens in path[start:]):
        return None
    return [token_id for tokens in path[start:] for token_id in unpack_ids(tokens.ids)]
