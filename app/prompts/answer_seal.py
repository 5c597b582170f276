"""Names and seals for the answers of clients that send the whole conversation each time.

The server does not keep the messages of such clients. An answer's token ids, the only part that is kept, are encrypted
under a key derived from the tenant's salt and from all messages up to the end of the answer. A party that can open the
seal therefore knows the contents already (convergent encryption). Only the same messages, sent again by the same
tenant, lead to it.

A seal is AES-SIV (RFC 5297), which is deterministic. The first bytes of a seal authenticate the contents. They also
identify the exact ids, so that an answer can name the answer that it continues.
"""

import json
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from cache_tiers.owners.block_key import owner_with
from models.chat.format import Message
from models.chat.tool_calls import canonical_json, read_object

DIGEST_BYTES = 16
KEY_BYTES = 32
TAG_BYTES = 16
NO_TAG = bytes(TAG_BYTES)
"""Tag before the first token of the prompt."""


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """Contents of an opened seal.

    tag: identifies the ids of the whole conversation up to the end of the answer.
    before: the tag that these ids follow, or NO_TAG.
    ids: ids from there to the end of the answer, packed as in `app.domain.token_history`.
    """

    tag: bytes
    before: bytes
    ids: bytes


@dataclass(frozen=True, slots=True)
class Seal:
    """Seal of one answer after all messages before it.

    name: the key under which the sealed answer is stored: its owner, then a digest. Neither reveals any part of the
        messages.
    """

    name: bytes
    key: bytes

    def close(self, before: bytes, ids: bytes) -> bytes:
        """Encrypt the ids of the answer, with the tag that they follow."""
        return AESSIV(self.key).encrypt(before + ids, None)

    def open(self, sealed: bytes) -> KnownAnswer | None:
        """Decrypt a sealed answer. Returns None if it is damaged or was not made with this seal."""
        try:
            contents = AESSIV(self.key).decrypt(sealed, None)
        except InvalidTag:
            return None
        return KnownAnswer(sealed[:TAG_BYTES], contents[:TAG_BYTES], contents[TAG_BYTES:])


class Dialogue:
    """Running hash over the messages of a conversation, in order.

    salt: up to 64 secret bytes.
    prompt_identity: identity of the tokenizer and template, since another one turns the same messages into other ids.
    owner: owner of the answers, the same as that of the tenant's KV.
    """

    def __init__(self, salt: bytes, prompt_identity: str) -> None:
        self.owner = owner_with(salt)
        self._hash = blake2b(
            prompt_identity.encode(), key=salt, digest_size=DIGEST_BYTES + KEY_BYTES, person=b"ebb-answers"
        )

    def say(self, message: Message) -> None:
        """Add a message."""
        texts = [message.role.encode(), message.content.encode()]
        if message.tool_calls:
            # No role has this name, so calls cannot be confused with messages.
            texts = [b"assistant with calls", texts[1], calls_text(message).encode()]
        for text in texts:
            self._hash.update(len(text).to_bytes(8, "little"))
            self._hash.update(text)

    @property
    def seal(self) -> Seal:
        """Seal of the answer that was added last."""
        digest = self._hash.digest()
        return Seal(self.owner + digest[:DIGEST_BYTES], digest[DIGEST_BYTES:])

    def followed_by(self, message: Message) -> "Dialogue":
        """Return a copy of this dialogue with `message` added."""
        longer = copy(self)
        longer._hash = self._hash.copy()
        longer.say(message)
        return longer


def calls_text(message: Message) -> str:
    """Return one text for the calls of a message, the same in every API; empty without calls."""
    calls = [[call.name, _same_in_every_api(call.arguments)] for call in message.tool_calls]
    return json.dumps(calls) if calls else ""


def _same_in_every_api(arguments: str) -> str:
    """Return one text for all ways to write the same arguments. Clients of Messages send values back, others text."""
    value = read_object(arguments)
    return arguments if value is None else canonical_json(value)


def seals_of_answers(dialogue: Dialogue, messages: Iterable[Message]) -> dict[int, Seal]:
    """Add all messages to `dialogue` and return the seals of the assistant's messages, by index."""
    seals: dict[int, Seal] = {}
    for index, message in enumerate(messages):
        dialogue.say(message)
        if message.role == "assistant":
            seals[index] = dialogue.seal
    return seals
