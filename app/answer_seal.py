"""Names and seals for the answers of clients that send the whole conversation each time.

The server does not keep what such clients say. What it keeps of an answer, its token ids, is encrypted under a key that
derives from the tenant's salt and from every word that was said up to the end of the answer: whoever can open it knows
already what is inside (convergent encryption). Only the same messages, sent again by the same tenant, lead to it.

A seal is AES-SIV (RFC 5297): deterministic, and its first bytes authenticate the contents. They also name the exact
ids, so an answer can say which one it went on from.
"""

import json
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from cache_tiers.block_key import owner_with
from models.pangu.chat_format import Message

DIGEST_BYTES = 16
KEY_BYTES = 32
TAG_BYTES = 16
NO_TAG = bytes(TAG_BYTES)
"""Of what begins with the first token of the prompt."""


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """tag: names the ids of the whole conversation up to its end. before: the tag that it goes on from, or NO_TAG.
    ids: packed as in `app.token_history`, from there to the end of the answer."""

    tag: bytes
    before: bytes
    ids: bytes


@dataclass(frozen=True, slots=True)
class Seal:
    """The seal of one answer after everything that was said before it.

    name: where the answer is kept: its owner, then a digest. Neither reveals anything of what was said.
    """

    name: bytes
    key: bytes

    def close(self, before: bytes, ids: bytes) -> bytes:
        """What may be kept."""
        return AESSIV(self.key).encrypt(before + ids, None)

    def open(self, sealed: bytes) -> KnownAnswer | None:
        """None if that was not made with this seal, or is damaged."""
        try:
            contents = AESSIV(self.key).decrypt(sealed, None)
        except InvalidTag:
            return None
        return KnownAnswer(sealed[:TAG_BYTES], contents[:TAG_BYTES], contents[TAG_BYTES:])


class Dialogue:
    """A running hash over messages, in the order in which they are said. salt: up to 64 secret bytes.

    prompt_identity: names tokenizer and template. Messages become other ids under another one. owner: of the answers,
    the same as that of the tenant's KV.
    """

    def __init__(self, salt: bytes, prompt_identity: str) -> None:
        self.owner = owner_with(salt)
        self._said = blake2b(
            prompt_identity.encode(), key=salt, digest_size=DIGEST_BYTES + KEY_BYTES, person=b"ebb-answers"
        )

    def say(self, message: Message) -> None:
        """Add a message."""
        texts = [message.role.encode(), message.content.encode()]
        if message.tool_calls:
            # No role has this name, so that calls are never taken for messages.
            calls = [[call.name, call.arguments] for call in message.tool_calls]
            texts = [b"assistant with calls", texts[1], json.dumps(calls).encode()]
        for text in texts:
            self._said.update(len(text).to_bytes(8, "little"))
            self._said.update(text)

    @property
    def seal(self) -> Seal:
        """The seal of the answer that was said last."""
        digest = self._said.digest()
        return Seal(self.owner + digest[:DIGEST_BYTES], digest[DIGEST_BYTES:])

    def followed_by(self, message: Message) -> "Dialogue":
        """Another one, with a message more."""
        longer = copy(self)
        longer._said = self._said.copy()
        longer.say(message)
        return longer


def seals_of_answers(dialogue: Dialogue, messages: Iterable[Message]) -> dict[int, Seal]:
    """Say all of the messages; the seals of those that are the assistant's, by their index."""
    seals: dict[int, Seal] = {}
    for index, message in enumerate(messages):
        dialogue.say(message)
        if message.role == "assistant":
            seals[index] = dialogue.seal
    return seals
