"""Prompts of clients that send the whole conversation each time, with the exact ids of remembered answers.

Tokenizing an answer's text often gives other ids than those generated, and KV is not found after the first difference.
So the ids of each answer are remembered under the messages up to its end, along with the ids that the prompt added
since the previous answer. The messages of the next request lead to them, one answer after another:

    messages    system  user  ANSWER  user  ANSWER  user
    ids         [ first record     ] [ second     ] [ tokenized now ]

An answer that is not remembered, because the client wrote or changed it, is tokenized with the messages around it. The
next answer is remembered with all of them.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.token_history import pack_ids, unpack_ids
from app.host.backend import Backend, PromptFormat
from app.host.engine_host import EngineHost
from app.prompts.answer_memory import AnswerMemory
from app.prompts.answer_seal import NO_TAG, Dialogue, KnownAnswer, Seal, seals_of_answers
from app.prompts.exact_ids import exact_ids
from app.prompts.headless import HEAD, NOTHING_LACKS, Headless, HeadPart
from app.prompts.prefix_rules import STABLE, PrefixRules, StableMessages
from app.prompts.tokenization import LONG_TEXT, apart_if, never_stop, size_apart, to_ids
from app.prompts.volatile_lines import TreatedLines
from app.tenants.gate import TenantGate
from models.chat.format import Message
from models.errors import ModelError
from models.thinking import ThinkingMode

logger = logging.getLogger(__name__)

Remember = Callable[[Sequence[int], str, str | None], Awaitable[None]]
"""Called with the ids generated for an answer, its text, including tool calls as the model wrote them, and the text
before which the answer was cut, as in `engine.api.outputs.RequestOutput`.
"""

AsMessage = Callable[[str, str | None], Message]
"""Converter of an answer, with the text before which it was cut, to the message that the client will send back."""

MANY_IDS = 2048
"""Number of ids from which comparing them with a text takes more than a few milliseconds."""


@dataclass(frozen=True, slots=True)
class History:
    """Remembered beginning of a conversation.

    ids: token ids from the first on.
    num_messages: number of messages that the ids cover, the last of them an answer.
    tag: tag of that answer, or NO_TAG.
    """

    ids: list[int]
    num_messages: int
    tag: bytes


NOTHING = History([], 0, NO_TAG)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePrompt:
    """Prompt of a client that sends the whole conversation.

    ids: all token ids.
    added: ids after the last remembered answer.
    tag: tag of that answer, or NO_TAG.
    dialogue: hash of the messages.
    lines: volatile lines that were treated.
    opening: beginning of the answer, which the client wrote.
    opening_ids: its token ids, the last of `ids`.
    headless: the messages without their head; None if they have none.
    is_headed: whether `ids` begin with the head of a remembered conversation, which the messages lack.
    """

    ids: list[int]
    added: list[int]
    tag: bytes
    dialogue: Dialogue
    lines: TreatedLines
    opening: str = ""
    opening_ids: Sequence[int] = ()
    headless: Headless | None = None
    is_headed: bool = False


def plain_answer(text: str, _: str | None) -> Message:
    """Make the message of an answer without tool calls."""
    return Message("assistant", text)


class WholePrompts:
    """Maker of prompts that reuse remembered answers, and recorder of new answers.

    rules: rules for the beginning of the prompts.
    """

    def __init__(self, host: EngineHost, memory: AnswerMemory, rules: PrefixRules = STABLE) -> None:
        self._host = host
        self._memory = memory
        self.rules = rules

    async def prompt(
        self,
        gate: TenantGate,
        engine: Backend,
        messages: Sequence[Message],
        *,
        param: str,
        thinking: ThinkingMode | None = None,
        opening: str = "",
        lacking: frozenset[HeadPart] = NOTHING_LACKS,
        stop: Callable[[], None] = never_stop,
    ) -> WholePrompt:
        """Build the prompt for an answer to `messages`. Changes nothing.

        param: the client's name of the messages.
        thinking: the answer's thinking mode; None leaves it to the model.
        opening: beginning of the answer, which the model continues.
        lacking: parts of the head that `messages` lack. The same conversation is found with them if it is remembered.
        stop: as in `to_ids`.

        Raises:
            InvalidRequestError: the prompt is too long, or the template refuses the messages.
        """
        salt, identity = engine.tenant_salt(gate.tenant), self._host.prompt_identity_of(engine)
        dialogue = Dialogue(salt, identity)
        self._memory.owners.note(dialogue.owner, gate.tenant)
        is_long = await size_apart(messages) >= LONG_TEXT
        stable, seals = await apart_if(is_long, lambda: self._sealed(dialogue, messages))
        headless, own = await apart_if(is_long, lambda: Headless.of(salt, identity, messages))
        history = await self._history(seals, is_long=is_long)
        if is_headed := bool(lacking) and not history.num_messages:
            behind = headless.seals(own, await self._found(own), lacking)
            history = await self._history(
                {len(stable.messages) + at: each for at, each in behind.items()}, is_long=is_long
            )
        begun, added, opening_ids = await to_ids(
            gate,
            engine,
            lambda: _encoded(engine, history, stable.messages, thinking, opening),
            await size_apart(stable.messages[history.num_messages :]) + len(opening),
            param=param,
            stop=stop,
        )
        ids = [*begun.ids, *added, *opening_ids]
        return WholePrompt(
            ids=ids,
            added=added,
            tag=begun.tag,
            dialogue=dialogue,
            lines=stable.lines,
            opening=opening,
            opening_ids=opening_ids,
            headless=headless if messages and messages[0].role in HEAD else None,
            is_headed=is_headed and begun.num_messages > 0,
        )

    async def _found(self, seals: Mapping[int, Seal]) -> Mapping[bytes, bytes]:
        return await self._memory.find([seal.name for seal in seals.values()]) if seals else {}

    async def _history(self, seals: Mapping[int, Seal], *, is_long: bool) -> History:
        found = await self._found(seals)
        return await apart_if(is_long, lambda: longest_history(seals, found))

    def _sealed(self, dialogue: Dialogue, messages: Sequence[Message]) -> tuple[StableMessages, Mapping[int, Seal]]:
        """Apply the rules to `messages`, and add the result to `dialogue`. Return it with the seals of its answers."""
        stable = self.rules.apply(messages)
        return stable, seals_of_answers(dialogue, stable.messages)

    async def remember(
        self,
        engine: Backend,
        prompt: WholePrompt,
        produced: Sequence[int],
        text: str,
        cut_before: str | None = None,
        as_message: AsMessage = plain_answer,
    ) -> None:
        """Remember the answer to `prompt`: the ids generated for it and the text that the client received. Never fails.

        The prompt's opening is part of the answer, as in the message that the client will send back.

        cut_before, as_message: as in `Remember` and `AsMessage`.
        """
        try:
            produced, text = [*prompt.opening_ids, *produced], prompt.opening + text
            message = await apart_if(len(text) >= LONG_TEXT, lambda: as_message(text, cut_before))
            await self._remember(engine, prompt, produced, text, message)
        except Exception:
            logger.exception("an answer could not be remembered; its conversation will be tokenized again")

    async def _remember(
        self,
        engine: Backend,
        prompt: WholePrompt,
        produced: Sequence[int],
        text: str,
        message: Message,
    ) -> None:
        thinking = engine.chat_format.thinking
        if thinking is not None and thinking.has_headers:
            return
        marks = engine.chat_format.tools.names_of_marks()
        ids = await apart_if(len(produced) >= MANY_IDS, lambda: exact_ids(engine.tokenizer, produced, text, marks))
        if ids is None:
            return
        seal = prompt.dialogue.followed_by(message).seal
        there = (await self._memory.find([seal.name])).get(seal.name)
        known = seal.open(there) if there is not None else None
        # The first record stays, since conversations may have continued from it.
        if known is None or known.before != prompt.tag:
            self._memory.keep(seal.name, seal.close(prompt.tag, pack_ids(prompt.added + ids)))
            if prompt.headless is not None:
                self._memory.keep(*prompt.headless.record(message, seal))


def longest_history(seals: Mapping[int, Seal], found: Mapping[bytes, bytes]) -> History:
    """Return the history up to the last answer whose ids are known from the first token on.

    seals: seals by message index, in order.
    found: sealed answers by name.
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


def _encoded(
    engine: Backend, history: History, messages: Sequence[Message], thinking: ThinkingMode | None, opening: str
) -> tuple[History, list[int], list[int]]:
    """Return the part of `history` that the prompt begins with, the ids after it, and those of the answer's beginning.

    The answer's beginning is no reasoning, so reasoning that the template opens ends before it.
    """
    begun, added = _continued(engine.chat_format, history, messages, thinking)
    ids = engine.tokenizer.encode(opening, special=False) if opening else []
    marks = engine.chat_format.thinking
    if ids and marks is not None and marks.opens(added):
        ids = [*marks.closing_ids, *ids]
    return begun, added, ids


def _continued(
    chat_format: PromptFormat, history: History, messages: Sequence[Message], thinking: ThinkingMode | None
) -> tuple[History, list[int]]:
    """Return the part of `history` that the prompt begins with, and the ids after it."""
    if history.num_messages:
        try:
            num_new = len(messages) - history.num_messages
            return history, chat_format.extend(history.ids, messages, num_new=num_new, thinking=thinking)
        except ModelError:
            # Not every template can continue after every answer. If not, render all messages, or let the template
            # refuse them.
            pass
    return NOTHING, chat_format.render(messages, thinking=thinking)
