"""Prompts of clients that send the whole conversation each time: as far as this server said it, by its exact ids.

An answer's text is often tokenised to other ids than those that were produced, and behind the first difference no KV is
found again. So the ids of each answer are remembered under what was said up to its end, together with those that the
prompt added since the answer before it. The next request's messages lead to them, one answer to the next:

    messages    system  user  ANSWER  user  ANSWER  user
    ids         [ first record     ] [ second     ] [ tokenised now ]

An answer that nobody remembers (a client's own, or changed by it) is tokenised with what surrounds it, and the answer
that follows it is remembered with all of that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.answer_memory import AnswerMemory
from app.answer_seal import NO_TAG, Dialogue, KnownAnswer, Seal, seals_of_answers
from app.backend import Backend, PromptFormat
from app.engine_host import EngineHost
from app.exact_ids import exact_ids
from app.prompts import LONG_TEXT, size_of, to_ids
from app.tenant_gate import TenantGate
from app.token_history import pack_ids, unpack_ids
from models.errors import ModelError
from models.pangu.chat_format import Message
from models.thinking import ThinkingMode

T = TypeVar("T")

logger = logging.getLogger(__name__)

Remember = Callable[[Sequence[int], str], Awaitable[None]]
"""Told the ids that were produced for an answer, and its text; where it calls tools, as the model wrote that."""

MANY_IDS = 2048
"""From which it takes more than a few milliseconds to compare them with a text."""


@dataclass(frozen=True, slots=True)
class History:
    """What is known of a conversation's ids. num_messages: which they cover, the last one an answer. tag: its name."""

    ids: list[int]
    num_messages: int
    tag: bytes


NOTHING = History([], 0, NO_TAG)


@dataclass(frozen=True, slots=True)
class WholePrompt:
    """ids: all of it. added: those behind the answer named by `tag`. dialogue: what was said."""

    ids: list[int]
    added: list[int]
    tag: bytes
    dialogue: Dialogue


def plain_answer(text: str) -> Message:
    """One that calls nothing."""
    return Message("assistant", text)


class WholePrompts:
    """Makes them, and remembers what was answered."""

    def __init__(self, host: EngineHost, memory: AnswerMemory) -> None:
        self._host = host
        self._memory = memory

    async def prompt(
        self,
        gate: TenantGate,
        engine: Backend,
        messages: Sequence[Message],
        *,
        param: str,
        thinking: ThinkingMode | None = None,
    ) -> WholePrompt:
        """For the answer to `messages`; changes nothing. param: what clients call them. thinking: the answer's mode.

        Raises:
            InvalidRequestError: too long, or the template refuses the messages.
        """
        dialogue = Dialogue(engine.tenant_salt(gate.tenant), self._host.prompt_identity)
        self._memory.owners.note(dialogue.owner, gate.tenant)
        is_long = size_of(messages) >= LONG_TEXT
        seals = await _apart_if(is_long, lambda: seals_of_answers(dialogue, messages))
        found = await self._memory.find([seal.name for seal in seals.values()]) if seals else {}
        history = await _apart_if(is_long, lambda: longest_history(seals, found))
        begun, added = await to_ids(
            gate,
            engine,
            lambda: _continued(engine.chat_format, history, messages, thinking),
            size_of(messages[history.num_messages :]),
            param=param,
        )
        return WholePrompt(begun.ids + added, added, begun.tag, dialogue)

    async def remember(
        self,
        engine: Backend,
        prompt: WholePrompt,
        produced: Sequence[int],
        text: str,
        as_message: Callable[[str], Message] = plain_answer,
    ) -> None:
        """What the client got as the answer to `prompt`, and the ids that were produced for it. Never fails.

        as_message: the text as the client will send it again.
        """
        try:
            await self._remember(engine, prompt, produced, text, as_message)
        except Exception:
            logger.exception("an answer is not remembered; its conversation is tokenised again")

    async def _remember(
        self,
        engine: Backend,
        prompt: WholePrompt,
        produced: Sequence[int],
        text: str,
        as_message: Callable[[str], Message],
    ) -> None:
        marks = engine.chat_format.tools.names_of_marks()
        ids = await _apart_if(len(produced) >= MANY_IDS, lambda: exact_ids(engine.tokenizer, produced, text, marks))
        if ids is None:
            return
        seal = prompt.dialogue.followed_by(as_message(text)).seal
        there = (await self._memory.find([seal.name])).get(seal.name)
        known = seal.open(there) if there is not None else None
        # The first one stays: conversations may have gone on from it.
        if known is None or known.before != prompt.tag:
            self._memory.keep(seal.name, seal.close(prompt.tag, pack_ids(prompt.added + ids)))


def longest_history(seals: Mapping[int, Seal], found: Mapping[bytes, bytes]) -> History:
    """Up to the last answer whose ids are known from the first token on.

    seals: by the index of their messages, the first one first. found: sealed answers by their names.
    """
    known: dict[bytes, KnownAnswer] = {}
    num_messages, last = 0, NO_TAG
    for index, seal in seals.items():
        answer = seal.open(found[seal.name]) if seal.name in found else None
        if answer is not None and (answer.before == NO_TAG or answer.before in known):
            known[answer.tag] = answer
            num_messages, last = index + 1, answer.tag
    pieces: list[bytes] = []
    tag = last
    while tag != NO_TAG:
        pieces.append(known[tag].ids)
        tag = known[tag].before
    return History(unpack_ids(b"".join(reversed(pieces))), num_messages, last)


def _continued(
    chat_format: PromptFormat, history: History, messages: Sequence[Message], thinking: ThinkingMode | None
) -> tuple[History, list[int]]:
    """What of `history` the prompt begins with, and the ids behind that."""
    if history.num_messages:
        try:
            num_new = len(messages) - history.num_messages
            return history, chat_format.extend(history.ids, messages, num_new=num_new, thinking=thinking)
        except ModelError:
            # Not every template can go on behind every answer. Then it writes all of the messages, or refuses them.
            pass
    return NOTHING, chat_format.render(messages, thinking=thinking)


async def _apart_if(is_long: bool, work: Callable[[], T]) -> T:
    """In a thread what would hold up the event loop."""
    return await asyncio.to_thread(work) if is_long else work()
