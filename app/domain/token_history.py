"""Exact token ids of a conversation, as the engine saw and generated them. No text is tokenized a second time.

A user message keeps the ids between the answer before it and the start of its own answer (end of turn, the message,
generation prompt). An assistant message keeps the generated ids. The joined ids of a path are therefore the prompt, and
the prompt of one turn is a prefix of the next turn's, so that its KV blocks are found again.

A message without a key was never tokenized on its own. If several messages were sent at once, or waited in a
conversation until an answer was requested, the last one has the key and the ids of all of them.

Ids are valid only under one tokenizer, template and system prompt, which `prompt_key` identifies. The ids of one key
make a separate prompt, whatever messages with ids of other keys are between them: where a chat returns to a model,
the next user message has the ids of all messages since that model's last answer. The first one under a key has the ids
of the whole prompt, marked by `starts_prompt`. Ids of the same key above it no longer count.

    question A+, answer A, question B+, answer B, question A, answer A      + starts the prompt of its key
    prompt of A: question A+, answer A, question A, answer A             the last question has the ids of three messages

A question that several models answer has a list of ids for each of them.
"""

import hashlib
import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

ID_BYTES = 4
"""Size of one packed id."""

_LEFT_OUT = "-after-"


@dataclass(frozen=True, slots=True)
class MessageTokens:
    """Token ids of one message.

    ids: packed as little-endian uint32.
    prompt_key: key under which the ids are valid; empty if the message was not tokenized on its own.
    starts_prompt: whether the ids are those of the whole prompt.
    model: name of the model that read or wrote them; None in messages that are older than such names, or without ids.
    """

    ids: bytes = b""
    prompt_key: str = ""
    starts_prompt: bool = False
    model: str | None = None


class Tokenized(Protocol):
    """A message with its token ids under one key or several."""

    @property
    def role(self) -> str:
        """Role of the message."""

    @property
    def token_lists(self) -> Sequence[MessageTokens]:
        """The ids, one list per key."""


def pack_ids(ids: Iterable[int]) -> bytes:
    """Pack token ids as little-endian uint32."""
    packed = array("I", ids)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack_ids(packed: bytes) -> list[int]:
    """Unpack little-endian uint32 to token ids."""
    ids = array("I")
    ids.frombytes(packed)
    if sys.byteorder == "big":
        ids.byteswap()
    return ids.tolist()


def prompt_key(prompt_identity: str, system_prompt: str | None, tools: str = "") -> str:
    """Return the key that stored ids must have to be reused.

    prompt_identity: identity of the tokenizer and template.
    tools: text of the tools in the prompt.
    """
    described = f"\0{tools}" if tools else ""
    return hashlib.sha256(f"{prompt_identity}\0{system_prompt or ''}{described}".encode()).hexdigest()[:32]


def key_without(key: str, left_out: int, summary: str | None) -> str:
    """Return the key of prompts that have a summary, or nothing, in place of the first `left_out` messages."""
    if not left_out:
        return key
    digest = hashlib.sha256(summary.encode()).hexdigest()[:16] if summary is not None else ""
    return f"{key}{_LEFT_OUT}{left_out}-{digest}"


def whole_key(key: str) -> str:
    """Return the key of the prompts that have all messages, from a key that `key_without` may have made."""
    return key.partition(_LEFT_OUT)[0]


def shortened_key(key: str) -> str:
    """Return the key of prompts that lack messages of their path. A prompt with all of them never continues one."""
    return f"{key}-shortened"


def is_shortened(key: str) -> bool:
    """Return whether `key` is one of `shortened_key`."""
    return key.endswith("-shortened")


def num_common(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix of two packed id sequences, in ids."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high // ID_BYTES
    while low < high - 1:
        middle = (low + high) // 2
        # All before `low` is equal, so each comparison has half the length of the one before.
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle)
    return low // ID_BYTES


def tokens_under(message: Tokenized, key: str) -> MessageTokens | None:
    """Return the ids of a message under a key; None if it has none."""
    return next((tokens for tokens in message.token_lists if tokens.prompt_key == key), None)


def num_known(path: Sequence[Tokenized], key: str) -> int:
    """Return the number of messages at the beginning of a path (root first) that a prompt under `key` can continue.

    The last of them is the last message of the path, if it has ids under `key`, or else the last answer that has.
    """
    last = len(path)
    if last and tokens_under(path[-1], key) is not None:
        return last
    return next(
        (end for end in range(last, 0, -1) if path[end - 1].role == "assistant" and tokens_under(path[end - 1], key)), 0
    )


def joined_ids(path: Sequence[Tokenized], key: str) -> list[int] | None:
    """Return the ids of a path (root first) through its last message; None if stored ids cannot be used under `key`."""
    own = [tokens_under(message, key) for message in path]
    start = max(
        (index for index, tokens in enumerate(own) if tokens is not None and tokens.starts_prompt), default=None
    )
    if start is None or own[-1] is None:
        return None
    for index in range(start + 1, len(path)):
        # The ids of the question were replaced by those of another prompt.
        if own[index] is not None and own[index - 1] is None and path[index].role == "assistant":
            return None
    return [token_id for tokens in own[start:] if tokens is not None for token_id in unpack_ids(tokens.ids)]
