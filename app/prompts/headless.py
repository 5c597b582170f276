"""Remembered answers of a conversation that comes without its head: its tools and its system prompt.

    remembered  TOOLS  SYSTEM  user  ANSWER  user  ANSWER
    sent                       user  ANSWER  user  ANSWER  user: summarize this

The seal of an answer covers the head, which such a client does not send. So each answer is also named by the messages
after the head. That record is sealed like the answer, and contains the answer's seal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile
from typing import Final, Literal

from app.prompts.answer_seal import DIGEST_BYTES, KEY_BYTES, TAG_BYTES, Dialogue, Seal, seals_of_answers
from cache_tiers.owners.block_key import OWNER_BYTES
from models.chat.format import Message

HeadPart = Literal["tools", "system"]

HEAD: Final = ("tools", "system")
NOTHING_LACKS: Final = frozenset[HeadPart]()


@dataclass(frozen=True, slots=True)
class Headless:
    """A conversation without its head.

    dialogue: hash of the messages after the head.
    system: digest of the system prompt.
    """

    dialogue: Dialogue
    system: bytes

    @classmethod
    def of(cls, salt: bytes, prompt_identity: str, messages: Sequence[Message]) -> tuple["Headless", dict[int, Seal]]:
        """Take the head from `messages`. Return the rest, and the seals of its answers by their index from the end.

        salt, prompt_identity: as in Dialogue.
        """
        head = list(takewhile(lambda message: message.role in HEAD, messages))
        system = "\0".join(message.content for message in head if message.role == "system")
        digest = blake2b(system.encode(), key=salt, digest_size=TAG_BYTES, person=b"ebb-system").digest()
        dialogue = Dialogue(salt, f"headless\0{prompt_identity}")
        rest = messages[len(head) :]
        seals = seals_of_answers(dialogue, rest)
        return cls(dialogue, digest), {index - len(rest): seal for index, seal in seals.items()}

    def record(self, answer: Message, seal: Seal) -> tuple[bytes, bytes]:
        """Return the name and the sealed contents of the record that leads to `seal`, that of `answer`."""
        own = self.dialogue.followed_by(answer).seal
        return own.name, own.close(self.system, seal.name + seal.key)

    def seals(
        self, own: Mapping[int, Seal], found: Mapping[bytes, bytes], lacking: frozenset[HeadPart]
    ) -> dict[int, Seal]:
        """Return the seals of the answers to which records lead.

        own: seals of the records by index.
        found: records by name.
        lacking: parts of the head that are not known. A system prompt that is known must be that of the records.
        """
        behind = dict[int, Seal]()
        for index, seal in own.items():
            record = seal.open(found[seal.name]) if seal.name in found else None
            if record is not None and ("system" in lacking or record.before == self.system):
                name = OWNER_BYTES + DIGEST_BYTES
                behind[index] = Seal(record.ids[:name], record.ids[name : name + KEY_BYTES])
        return behind
