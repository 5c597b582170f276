"""Prompts of responses: of the stored messages before them and those of the request, or of the latest that fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from app.apis.responses.schema import PromptFields
from app.apis.responses.truncation import cut_before, places_to_cut
from app.domain.records import Conversation, Message
from app.domain.token_history import MessageTokens, pack_ids, shortened_key
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.prompts.headless import NOTHING_LACKS, HeadPart
from app.prompts.stateless import Remember, WholePrompts, plain_answer
from app.prompts.thinking import preferred_mode
from app.prompts.tokenization import MANY_MESSAGES, apart_if, never_stop
from app.prompts.turn_prompt import Prompt, PromptMaker, turns_of
from app.tenants.gate import TenantGate
from engine.api.errors import PromptTooLongError
from models.chat.format import Message as ChatMessage
from models.thinking import ThinkingMode

DEFAULT_ROOM = 8
"""Divisor of the window: this part of it is left to an answer without its own limit."""
MAX_ROOM = 2
"""Divisor of the window: no message is dropped to leave more of it to an answer."""


@dataclass(frozen=True, slots=True)
class ResponseParent:
    """Parent of a new response: the last message of `path`, or the conversation if `path` is empty.

    is_named: the client named the conversation.
    is_new: the conversation is created for the response.
    """

    conversation: Conversation
    path: Sequence[Message]
    is_named: bool = False
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class MadePrompt:
    """A prompt, and the callback that remembers the answer to it.

    remember: None if the prompt continues stored token ids. Otherwise the same messages may come again, and the
        remembered answer lets its KV be reused.
    is_headed: as in `WholePrompt`.
    """

    prompt: Prompt
    remember: Remember | None
    is_headed: bool = False


class ResponsePrompts:
    """Maker of the prompts of a tenant's responses."""

    def __init__(self, host: EngineHost, prompts: WholePrompts, gate: TenantGate) -> None:
        self._host = host
        self._prompts = prompts
        self._gate = gate

    async def prompt(
        self,
        engine: Backend,
        parent: ResponseParent,
        fields: PromptFields,
        asked: Sequence[Message],
        *,
        max_tokens: int | None = None,
        lacking: frozenset[HeadPart] = NOTHING_LACKS,
        stop: Callable[[], None] = never_stop,
    ) -> MadePrompt:
        """Build the prompt for an answer to `asked`, the messages of the request.

        max_tokens: the client's limit of the answer. With `truncation: auto`, room is left for so many tokens, but for
            no more than half of the window.
        lacking: as in `WholePrompts.prompt`.
        stop: as in `to_ids`.

        Raise InvalidRequestError: the prompt is too long, or the template refuses the messages.
        """
        making = _Making(
            prompts=self, engine=engine, parent=parent, fields=fields, asked=asked, lacking=lacking, stop=stop
        )
        if fields.truncation != "auto":
            return await making.from_all()
        window = _window(engine)
        # Clients send a large limit as a mere safety limit.
        room = default_room(engine) if max_tokens is None else min(max_tokens, window // MAX_ROOM)
        return await making.fitting(window, room)

    def maker(self, engine: Backend, parent: ResponseParent, fields: PromptFields) -> PromptMaker:
        """Return the maker of prompts that continue stored token ids."""
        instructions = fields.instructions
        return PromptMaker(
            gate=self._gate,
            engine=engine,
            prompt_identity=self._host.prompt_identity_of(engine),
            system_prompt=parent.conversation.system_prompt if instructions is None else instructions,
            param="input",
            tools=fields.offer.messages,
            rules=self._prompts.rules,
        )

    async def messages(
        self, engine: Backend, parent: ResponseParent, fields: PromptFields, asked: Sequence[Message]
    ) -> list[ChatMessage]:
        """Return all messages of a prompt as the template gets them, those before `asked` included."""
        maker, path = self.maker(engine, parent, fields), [*parent.path, *asked]
        return await apart_if(len(path) >= MANY_MESSAGES, lambda: maker.messages(path))

    async def from_texts(
        self,
        maker: PromptMaker,
        fields: PromptFields,
        messages: Sequence[Message],
        key: str,
        lacking: frozenset[HeadPart],
        stop: Callable[[], None],
    ) -> MadePrompt:
        """Build the prompt of `messages` with the ids of the remembered answers among them.

        key: key of its token ids.
        lacking: as in `WholePrompts.prompt`.
        stop: as in `to_ids`.
        """
        engine, offer = maker.engine, fields.offer
        whole = await self._prompts.prompt(
            self._gate,
            engine,
            await apart_if(len(messages) >= MANY_MESSAGES, lambda: maker.messages(messages)),
            param="input",
            thinking=thinking_of(engine, fields),
            lacking=lacking,
            stop=stop,
        )
        tokens = MessageTokens(pack_ids(whole.ids), key, starts_prompt=True, model=engine.model_name)
        as_message = partial(offer.as_message, engine.chat_format.tools) if maker.tools else plain_answer
        remember = partial(self._prompts.remember, engine, whole, as_message=as_message)
        return MadePrompt(Prompt(whole.ids, tokens, whole.lines), remember, whole.is_headed)


class _Making:
    """One prompt in the making."""

    def __init__(
        self,
        *,
        prompts: ResponsePrompts,
        engine: Backend,
        parent: ResponseParent,
        fields: PromptFields,
        asked: Sequence[Message],
        lacking: frozenset[HeadPart],
        stop: Callable[[], None],
    ) -> None:
        self._prompts = prompts
        self._maker = prompts.maker(engine, parent, fields)
        self._fields = fields
        self._path = parent.path
        self._asked = asked
        self._lacking = lacking
        self._stop = stop

    async def from_all(self) -> MadePrompt:
        """Build the prompt of all messages."""
        if self._path:
            thinking = thinking_of(self._maker.engine, self._fields)
            return MadePrompt(await self._maker.prompt(self._path, turns_of(self._asked), thinking=thinking), None)
        return await self._prompts.from_texts(
            self._maker, self._fields, self._asked, await self._maker.key(), self._lacking, self._stop
        )

    async def fitting(self, window: int, room: int) -> MadePrompt:
        """Build the prompt that drops the fewest messages and leaves `room` in a window of `window` tokens.

        If there is none, build the shortest one, and leave it to the engine to refuse it.
        """
        made = dict[int, MadePrompt]()

        async def fits(place: int) -> bool:
            try:
                made[place] = await self._from_place(place)
            except PromptTooLongError:
                return False
            return len(made[place].prompt.ids) <= window - room

        if await fits(0):
            return made[0]
        places = [0, *places_to_cut([*self._path, *self._asked], step=window)]
        low, high = min(1, len(places) - 1), len(places) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if await fits(places[middle]) else (middle + 1, high)
        place = places[low]
        return made[place] if place in made else await self._from_place(place)

    async def _from_place(self, place: int) -> MadePrompt:
        """Build the prompt without the messages before `place`."""
        if place == 0:
            return await self.from_all()
        messages = cut_before([*self._path, *self._asked], place)
        key = shortened_key(await self._maker.key())
        return await self._prompts.from_texts(self._maker, self._fields, messages, key, self._lacking, self._stop)


def default_room(engine: Backend) -> int:
    """Return the tokens that `truncation: auto` leaves to an answer without its own limit."""
    return _window(engine) // DEFAULT_ROOM


def _window(engine: Backend) -> int:
    """Return the tokens of the longest prompt and answer for which the engine has KV memory."""
    return min(engine.max_model_len, engine.stats().blocks_of_one_engine * engine.config.cache.block_size)


def thinking_of(engine: Backend, fields: PromptFields) -> ThinkingMode | None:
    """Return the mode in which the model thinks before the answer; None leaves it to the model."""
    return preferred_mode(engine, fields.reasoning.effort if fields.reasoning is not None else None)
