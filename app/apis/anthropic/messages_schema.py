"""POST /v1/messages and /v1/messages/count_tokens."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from app.apis.anthropic.content_blocks import (
    Block,
    Content,
    ForeignResult,
    SystemContent,
    TextBlock,
    ToolResultBlock,
    extents_of,
    text_of,
)
from app.apis.anthropic.references import SearchResultBlock, ToolReferenceBlock, Undescribed
from app.apis.anthropic.serializer import ShownThoughts
from app.apis.anthropic.tool_search import SearchName, SearchTool
from app.apis.anthropic.tools_schema import AnthropicChoice, AnthropicTools, OfferedTool, ToolUseBlock, offer_of
from app.domain.bounds import MAX_MESSAGES
from app.host.backend import Backend
from app.prompts.thinking import preferred_mode
from app.prompts.tool_offer import ToolOffer
from app.schemas.answer_forms import JsonSchema, of_schema
from app.schemas.cache_mark import Markable, marked_share, wanted_promise
from app.schemas.examples import CHAT, MODEL
from app.schemas.foreign import Foreign
from app.schemas.hosted_tools import HostedTool
from app.schemas.parsing import CompatibleRequest, RequestModel
from app.schemas.sampling import (
    NO_DEFAULTS,
    GenerationRequest,
    ModelName,
    SomeStopStrings,
    ThinkingBudget,
    Whole,
    stop_strings,
)
from app.tenants.wanted_promise import WantedPromise
from engine.api.errors import InvalidRequestError, NotFoundError
from engine.api.sampling_params import SamplingParams
from models.chat.format import Message
from models.thinking import ThinkingMode


class MessageTurn(RequestModel):
    """One turn of the conversation. The model's chat template decides whether system turns may come between others.

    clear_at: with "next_user_message", a system turn leaves the prompt once a turn of the user follows it.
    """

    role: Literal["user", "assistant", "system"]
    content: Content
    clear_at: Literal["never", "next_user_message"] | None = None

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of the content; none if the content is one text."""
        return self.content if isinstance(self.content, list) else ()

    @property
    def references(self) -> Iterator[str]:
        """Names of the tools to which results refer."""
        for block in self.blocks:
            if isinstance(block, ToolResultBlock):
                yield from (part.tool_name for part in block.blocks if isinstance(part, ToolReferenceBlock))
            elif isinstance(block, SearchResultBlock):
                yield from (part.tool_name for part in block.references)


class ThinkingConfig(RequestModel):
    """Settings for reasoning: whether the model thinks before it answers, for how long, and whether that is returned.

    budget_tokens: tokens after which the reasoning is ended. Counts with the type "enabled" only.
    """

    type: Literal["enabled", "adaptive", "between_tools", "disabled"]
    budget_tokens: ThinkingBudget = None
    display: Literal["summarized", "omitted", "updates"] | None = None

    @property
    def is_off(self) -> bool:
        """Whether the model answers without thoughts. "between_tools" means so, with short reports between calls."""
        return self.type in ("between_tools", "disabled")


class OutputFormat(RequestModel):
    """JSON that conforms to a schema."""

    type: Literal["json_schema"]
    schema_: JsonSchema = Field(alias="schema")


class OutputConfig(RequestModel):
    """The form of the answer. `effort` has no effect."""

    ignored: ClassVar[frozenset[str]] = frozenset({"effort"})

    format: OutputFormat | None = None


class ThreadFields(RequestModel):
    """A request to hold the conversation on the server, or to continue one that is held there.

    Ebb holds none. A client that continues one learns that it is lost and sends the whole conversation again, whose KV
    is found by its prefix.
    """

    type: Literal["create", "continue"]
    previous_message_id: str | None = None


class CountTokensRequest(CompatibleRequest, Markable):
    """The fields that determine a prompt.

    `context_management` has no effect: the client decides which messages it sends.
    """

    examples = ({"model": MODEL, "messages": CHAT},)

    ignored: ClassVar[frozenset[str]] = frozenset({"context_management", "speed"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {"compaction": ()}

    model: ModelName
    messages: Annotated[list[MessageTurn], Field(min_length=1, max_length=MAX_MESSAGES)]
    system: SystemContent | None = None
    thinking: ThinkingConfig | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
    thread: ThreadFields | None = None
    tools: AnthropicTools | None = None
    tool_choice: AnthropicChoice | None = None

    @property
    def offered(self) -> Sequence[OfferedTool]:
        """The tools without those that are left out."""
        return [tool for tool in self.tools or () if not isinstance(tool, HostedTool)]

    @property
    def offer(self) -> ToolOffer:
        """The tools that the request offers. Raise NotFoundError as `turns` does."""
        # First: a request that continues a thread leaves out the tools that its choice may name.
        self._check_thread()
        return offer_of(self.offered, self.tool_choice, (name for each in self.messages for name in each.references))

    @property
    def thoughts(self) -> ShownThoughts:
        """Treatment of reasoning in the answer. None is returned unless the client asks the model to think."""
        if self.thinking is None or self.thinking.is_off:
            return "none"
        return "omitted" if self.thinking.display == "omitted" else "shown"

    def thinking_mode(self, engine: Backend) -> ThinkingMode | None:
        """Choose the thinking mode. Reasoning that would not be returned is avoided where the model allows it.

        To ask a model that cannot think for thoughts is no error: clients ask whichever model they have.
        """
        if self.thinking is None or self.thinking.is_off:
            return preferred_mode(engine, "none")
        if self.thinking.type == "adaptive":
            return preferred_mode(engine, "low")
        return preferred_mode(engine, "high")

    @property
    def answer_format(self) -> OutputFormat | None:
        """The required form of the answer."""
        newer = self.output_config.format if self.output_config is not None else None
        return newer or self.output_format

    @cached_property
    def marked_share(self) -> float:
        """Share of the prompt, from its beginning, that the client marked for caching: 0 to 1."""
        if self.is_marked:
            return 1.0
        contents = self._contents
        if not any(part.is_marked for part in self._marked_parts):
            return 0.0
        if not isinstance(contents[-1], str) and contents[-1] and contents[-1][-1].is_marked:
            return 1.0
        tools = [(len(json.dumps(tool.function)), tool.is_marked) for tool in self._upfront]
        return marked_share((*tools, *(extent for content in contents for extent in extents_of(content))))

    @property
    def wanted_promise(self) -> WantedPromise | None:
        """The beginning of the prompt whose KV the client wants to be kept; None for none."""
        return wanted_promise(self.marked_share, [self.mark, *(part.mark for part in self._marked_parts)])

    @property
    def _upfront(self) -> Sequence[OfferedTool]:
        """The tools that the prompt describes at its beginning."""
        return [tool for tool in self.offered if not tool.defer_loading]

    @property
    def _contents(self) -> Sequence[str | Sequence[Block]]:
        """The contents of the system prompt and of the messages."""
        return [self.system or "", *(message.content for _, message in self._shown)]

    @property
    def _marked_parts(self) -> Sequence[Markable]:
        """The parts that may have marks."""
        blocks = [block for content in self._contents if not isinstance(content, str) for block in content]
        return [*self._upfront, *blocks]

    @property
    def opening(self) -> str:
        """The beginning of the answer: the last message, if it is the assistant's."""
        last = self.messages[-1]
        return text_of(last.content) if last.role == "assistant" and not self._is_paused else ""

    def turns(self) -> list[Message]:
        """Return the messages for the chat template: first the tools, then the system prompt, then the turns.

        The beginning of an answer is not among them. A result is accepted whichever call it answers: clients trim long
        histories, and with them the calls.

        Raises:
            InvalidRequestError: a role has a block that only another role may have.
            NotFoundError: the request continues a conversation that the server would hold.
        """
        self._check_thread()
        offer = self.offer
        undescribed = {function["name"]: function for function in offer.loaded}
        system = text_of(self.system) if self.system is not None else ""
        turns = [turn for index, message in self._shown for turn in _turns(message, f"messages[{index}]", undescribed)]
        if self.messages[-1].role == "assistant" and not self._is_paused:
            self._check_opening(turns[-1])
            turns.pop()
        return [*offer.messages, *([Message("system", system)] if system else []), *turns]

    @property
    def _shown(self) -> list[tuple[int, MessageTurn]]:
        """The messages that are not cleared, each with its index."""
        asked = max((index for index, message in enumerate(self.messages) if message.role == "user"), default=-1)
        return [
            (index, message)
            for index, message in enumerate(self.messages)
            if message.role != "system" or message.clear_at != "next_user_message" or index > asked
        ]

    @property
    def _is_paused(self) -> bool:
        """Whether the last message ends with the result of a server's call, so that another answer follows it."""
        blocks = self.messages[-1].blocks
        return bool(blocks) and isinstance(blocks[-1], SearchResultBlock | ForeignResult)

    @property
    def searches(self) -> frozenset[SearchName]:
        """Names of the searches for tools that the server runs."""
        return frozenset(tool.name for tool in self.offered if isinstance(tool, SearchTool))

    @property
    def catalog(self) -> list[dict[str, Any]]:
        """The deferred tools, which the searches find."""
        return [tool.function for tool in self.offered if tool.defer_loading]

    def _check_thread(self) -> None:
        """Raise NotFoundError if the request continues a conversation that the server would hold."""
        if self.thread is not None and self.thread.type == "continue":
            raise NotFoundError(
                "thread: this server holds no conversations; send all messages",
                param="thread",
                code="thread_not_found",
            )

    @property
    def _name_of_format(self) -> str:
        newer = self.output_config is not None and self.output_config.format is not None
        return "output_config.format" if newer else "output_format"

    def _check_opening(self, turn: Message) -> None:
        """Raise InvalidRequestError if `turn`, the last one, cannot be the beginning of an answer."""
        param = f"messages[{len(self.messages) - 1}].role"
        searched = any(isinstance(block, SearchResultBlock | ForeignResult) for block in self.messages[-1].blocks[:-1])
        excluded = "a tool call" if turn.tool_calls or searched else None
        if self.thinking is not None and self.thinking.type == "enabled":
            excluded = "thinking"
        elif self.answer_format is not None:
            excluded = self._name_of_format
        elif self.offer.is_required:
            excluded = "tool_choice"
        if excluded is not None:
            raise InvalidRequestError(
                f"{param}: the last message begins the answer, which cannot be combined with {excluded}",
                param=param,
            )


def _turns(message: MessageTurn, path: str, undescribed: Undescribed) -> list[Message]:
    """Convert a turn to messages of the chat template. Results of calls become messages before the user's text.

    An answer in which the provider's servers searched for tools becomes several messages, as if a client had searched.

    undescribed: deferred tools to describe, from which the turn removes the ones that it describes.

    Raise InvalidRequestError for a block that the role may not have.
    """
    _check_roles(message, path)
    if isinstance(message.content, str):
        return [Message(message.role, message.content)]
    turns: list[Message] = []
    for are_results, group in groupby(
        message.content, lambda each: isinstance(each, SearchResultBlock | ForeignResult)
    ):
        blocks = list(group)
        if are_results:
            turns += (Message("tool", _result_text(each, undescribed)) for each in blocks)
        else:
            turns += _spoken(message.role, blocks, undescribed)
    return turns or [Message(message.role, "")]


def _result_text(block: RequestModel, undescribed: Undescribed) -> str:
    """Return the text of the result of a call that a server ran."""
    if isinstance(block, SearchResultBlock):
        return block.text(undescribed)
    assert isinstance(block, ForeignResult)
    return block.text


def _check_roles(message: MessageTurn, path: str) -> None:
    """Raise InvalidRequestError for a block or a field that the role of `message` may not have."""
    if message.clear_at == "next_user_message" and message.role != "system":
        param = f"{path}.clear_at"
        raise InvalidRequestError(f"{param}: only system messages are cleared", param=param)
    for index, block in enumerate(message.blocks):
        speaker = "user" if isinstance(block, ToolResultBlock) else "assistant"
        if not isinstance(block, TextBlock | Foreign) and message.role != speaker:
            param = f"{path}.content[{index}].type"
            raise InvalidRequestError(f"{param}: only {speaker} messages may have {block.type}", param=param)


def _spoken(role: str, blocks: Sequence[RequestModel], undescribed: Undescribed) -> list[Message]:
    """Convert blocks of one turn: first the results of calls, then the text with the calls."""
    results = [Message("tool", block.text(undescribed)) for block in blocks if isinstance(block, ToolResultBlock)]
    calls = tuple(block.call for block in blocks if isinstance(block, ToolUseBlock))
    text = text_of(blocks)
    return results if results and not text else [*results, Message(role, text, calls)]


class DiagnosticsFields(RequestModel):
    """A request to tell why the prompt does not continue an earlier one.

    previous_message_id: id of the earlier answer; None records this prompt for a later request.
    """

    previous_message_id: str | None = None


MaxTokens = Annotated[int, Field(ge=0, le=1 << 31), Whole]
"""A limit of the answer. 0 computes the prompt, and generates nothing."""


class MessagesRequest(CountTokensRequest, GenerationRequest):
    """A request of Anthropic's Messages API, with Ebb's own sampling and urgency fields."""

    examples = ({"model": MODEL, "messages": CHAT, "max_tokens": 5, "system": "Be brief.", "stream": True},)

    ignored: ClassVar[frozenset[str]] = CountTokensRequest.ignored | {
        "metadata",
        "service_tier",
        "inference_geo",
        "fallbacks",
        "fallback_credit_token",
        "billing_policy",
    }

    max_tokens: MaxTokens
    diagnostics: DiagnosticsFields | None = None
    stop: Annotated[SomeStopStrings, stop_strings("stop_sequences")] | None = Field(
        default=None, alias="stop_sequences"
    )

    def sampling_params(self, defaults: Mapping[str, float] = NO_DEFAULTS) -> SamplingParams:
        """Build the sampling parameters, including the form of the answer."""
        fields = self.model_copy(update={"thinking_token_budget": self._budget})
        params, form = super(MessagesRequest, fields).sampling_params(defaults), self.answer_format
        return params if form is None else replace(params, form=of_schema(form.schema_))

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages."""
        form = "tools" if self.answer_format is None else f"{self._name_of_format}.schema"
        names = {"prompt": "messages", "stop": "stop_sequences", "form": form}
        if self.thinking_token_budget is None:
            names["thinking_token_budget"] = "thinking.budget_tokens"
        return names.get(engine_param, engine_param)

    @property
    def _budget(self) -> int | None:
        """Tokens after which reasoning is ended; None for no limit."""
        if self.thinking_token_budget is not None or self.thinking is None or self.thinking.type != "enabled":
            return self.thinking_token_budget
        return self.thinking.budget_tokens
