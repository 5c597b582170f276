"""Causes for which a prompt does not continue an earlier one, which clients ask for with the id of the earlier answer.

    earlier   model  tools  system  message  message  message
    now       model  tools  system  message  MESSAGE  message  message  message
                                             the cause

A record of each prompt is kept for a day, under the id of its answer. The record has only digests. A key from the id
and the tenant's salt seals the record.
"""

import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import takewhile
from typing import Final, Literal

from app.domain.token_history import ID_BYTES, pack_ids
from app.host.backend import Backend
from app.prompts.answer_memory import AnswerMemory
from app.prompts.answer_seal import DIGEST_BYTES, KEY_BYTES, Seal, calls_text
from app.prompts.headless import HEAD
from app.prompts.prefix_rules import PrefixRules
from app.prompts.tokenization import LONG_TEXT, apart_if, size_of
from app.prompts.tool_offer import ToolOffer
from cache_tiers.owners.block_key import owner_with
from models.chat.format import Message
from models.thinking import ThinkingMode

Cause = Literal["not_found", "model", "tools", "system", "messages", "thinking", "other"]
"""thinking: the mode. other: all parts are the same, but the prompts are not, as after a forgotten answer."""

AGE_SECONDS: Final = 24 * 3600.0
STRIDE: Final = 64
"""Tokens per digest: a common prefix is known to this precision."""
PART_BYTES: Final = 8
STRIDE_BYTES: Final = 4
_HEAD: Final = struct.Struct("<dQ")
_PARTS: Final = struct.Struct("<" + f"{PART_BYTES}s" * 4 + "I")


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference between a prompt and an earlier one.

    missed: tokens of the earlier prompt that come after it.
    reusable: tokens of the earlier prompt that come before it.
    message: index of the first message that differs, among those after the system prompt; None for another cause.
    """

    cause: Cause
    missed: int = 0
    reusable: int = 0
    message: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDigest:
    """Digests of the parts of a prompt.

    thinking: the mode in which the model thinks.
    messages: those after the system prompt, PART_BYTES each.
    strides: the token ids, STRIDE_BYTES for each STRIDE of them.
    """

    model: bytes
    tools: bytes
    system: bytes
    thinking: bytes
    messages: bytes
    strides: bytes
    num_tokens: int

    def since(self, earlier: "PromptDigest") -> Divergence | None:
        """Return where this prompt diverges from an earlier one; None if it continues it."""
        reusable = min(STRIDE * _num_equal(self.strides, earlier.strides, STRIDE_BYTES), earlier.num_tokens)
        missed = earlier.num_tokens - reusable
        if self.model != earlier.model:
            return Divergence("model", earlier.num_tokens)
        if self.tools != earlier.tools:
            return Divergence("tools", missed, reusable)
        if self.system != earlier.system:
            return Divergence("system", missed, reusable)
        num_equal = _num_equal(self.messages, earlier.messages, PART_BYTES)
        if num_equal * PART_BYTES < len(earlier.messages):
            return Divergence("messages", missed, reusable, num_equal)
        # The tokens that begin an answer are at the end of the earlier prompt, and may differ from those of its answer.
        if missed < 2 * STRIDE:
            return None
        return Divergence("thinking" if self.thinking != earlier.thinking else "other", missed, reusable)

    def packed(self) -> bytes:
        """Return all digests in one piece, without `num_tokens`."""
        num_messages = len(self.messages) // PART_BYTES
        parts = _PARTS.pack(self.model, self.tools, self.system, self.thinking, num_messages)
        return parts + self.messages + self.strides

    @classmethod
    def unpacked(cls, packed: bytes, num_tokens: int) -> "PromptDigest":
        """Return the digests that `packed` wrote."""
        model, tools, system, thinking, num_messages = _PARTS.unpack_from(packed)
        end = _PARTS.size + num_messages * PART_BYTES
        return cls(
            model=model,
            tools=tools,
            system=system,
            thinking=thinking,
            messages=packed[_PARTS.size : end],
            strides=packed[end:],
            num_tokens=num_tokens,
        )


class CacheDiagnostics:
    """Records of the prompts of the last day, and comparisons with them."""

    def __init__(self, memory: AnswerMemory, rules: PrefixRules, *, clock: Callable[[], float] = time.time) -> None:
        """Make the diagnostics.

        rules: those for the beginning of the prompts.
        clock: returns Unix seconds.
        """
        self._memory = memory
        self._rules = rules
        self._clock = clock

    async def digest(
        self,
        engine: Backend,
        tenant: str,
        offer: ToolOffer,
        messages: Sequence[Message],
        ids: Sequence[int],
        thinking: ThinkingMode | None,
        *,
        adapter: str = "",
    ) -> PromptDigest:
        """Digest a tenant's prompt.

        offer: all tools, even if the choice keeps them out of the prompt.
        messages: those of the prompt, the system prompt first.
        thinking: the mode; None leaves it to the model.
        adapter: as in `GenerateRequest`.
        """
        salt = engine.tenant_salt(tenant)
        model = f"{adapter or engine.model_name}\0{engine.kv_fingerprint}"
        return await apart_if(
            size_of(messages) >= LONG_TEXT, lambda: self._digest(salt, (model, thinking or ""), offer, messages, ids)
        )

    def keep(self, engine: Backend, tenant: str, answer_id: str, digest: PromptDigest) -> None:
        """Record the prompt of an answer."""
        seal = _seal(engine.tenant_salt(tenant), answer_id)
        self._memory.keep(seal.name, seal.close(_HEAD.pack(self._clock(), digest.num_tokens), digest.packed()))

    async def compare(self, engine: Backend, tenant: str, earlier_id: str, digest: PromptDigest) -> Divergence | None:
        """Return where a prompt diverges from that of an earlier answer of the tenant; None if it continues it."""
        seal = _seal(engine.tenant_salt(tenant), earlier_id)
        found = await self._memory.find([seal.name])
        record = seal.open(found[seal.name]) if seal.name in found else None
        if record is None:
            return Divergence("not_found")
        at, num_tokens = _HEAD.unpack(record.before)
        if self._clock() - at > AGE_SECONDS:
            return Divergence("not_found")
        return digest.since(PromptDigest.unpacked(record.ids, num_tokens))

    def _digest(
        self, salt: bytes, mode: tuple[str, str], offer: ToolOffer, messages: Sequence[Message], ids: Sequence[int]
    ) -> PromptDigest:
        """Digest a prompt. how: the model, and the mode in which it thinks."""

        def part(text: str) -> bytes:
            return blake2b(text.encode(), key=salt, digest_size=PART_BYTES, person=b"ebb-prompt-part").digest()

        head = list(takewhile(lambda message: message.role in HEAD, messages))
        tools = self._rules.apply(replace(offer, choice="auto").messages).messages
        system = self._rules.stable_text("\n\n".join(each.content for each in head if each.role == "system"))
        packed, step = pack_ids(ids), STRIDE * ID_BYTES
        strides = [
            blake2b(packed[start : start + step], key=salt, digest_size=STRIDE_BYTES).digest()
            for start in range(0, len(packed) - step + 1, step)
        ]
        return PromptDigest(
            model=part(mode[0]),
            tools=part("\0".join(message.content for message in tools)),
            system=part(system or ""),
            thinking=part(mode[1]),
            messages=b"".join(
                part(f"{each.role}\0{calls_text(each)}\0{each.content}") for each in messages[len(head) :]
            ),
            strides=b"".join(strides),
            num_tokens=len(ids),
        )


def _num_equal(one: bytes, other: bytes, size: int) -> int:
    """Return the number of leading pieces of `size` bytes in which two texts agree."""
    most = min(len(one), len(other)) // size
    return next(
        (at for at in range(most) if one[at * size : (at + 1) * size] != other[at * size : (at + 1) * size]), most
    )


def _seal(salt: bytes, answer_id: str) -> Seal:
    digest = blake2b(
        answer_id.encode(), key=salt, digest_size=DIGEST_BYTES + KEY_BYTES, person=b"ebb-prompt-of"
    ).digest()
    return Seal(owner_with(salt) + digest[:DIGEST_BYTES], digest[DIGEST_BYTES:])
