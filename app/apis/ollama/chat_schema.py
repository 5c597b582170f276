"""POST /api/chat."""

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from app.apis.call_arguments import arguments_text
from app.apis.ollama.request import OllamaRequest
from app.apis.openai.tools_schema import MAX_CALLS, MAX_TOOLS, Tool
from app.domain.bounds import MAX_MESSAGES
from app.prompts.tool_offer import ToolOffer
from app.schemas.examples import CHAT, MODEL, TOOL
from app.schemas.foreign import Picture, with_pictures
from app.schemas.parsing import RequestModel, optional
from engine.api.errors import InvalidRequestError
from models.chat.format import Message
from models.chat.tool_calls import ToolCall


class OllamaFunction(RequestModel):
    """The function of a call.

    name: as the model wrote it, which may call a function that is not there.
    index: position of the call in its answer; ignored.
    """

    name: str
    arguments: dict[str, Any] | None = None
    index: int | None = None


class OllamaCall(RequestModel):
    """A call in an earlier answer. `id` and `type` are ignored."""

    function: OllamaFunction
    id: str | None = None
    type: str | None = None

    @property
    def call(self) -> ToolCall:
        """The call with its arguments as JSON text, in the form in which the answer was remembered."""
        return ToolCall(self.function.name, arguments_text(self.function.arguments or {}))


class OllamaMessage(RequestModel):
    """One message of the conversation. Thoughts that are sent back are not part of the prompt.

    A result is not matched to its call: Ollama's clients need not name the call, and no template writes its name.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "thinking", "tool_call_id", "tool_name"})

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    images: Annotated[list[Picture], Field(max_length=MAX_MESSAGES)] | None = None
    tool_calls: Annotated[list[OllamaCall], Field(max_length=MAX_CALLS)] | None = None

    def turn(self, path: str) -> Message:
        """Convert to a message of the chat template. Raise InvalidRequestError for calls that the role may not make.

        path: place of the message in the request, for error messages.
        """
        if self.tool_calls and self.role != "assistant":
            param = f"{path}.tool_calls"
            raise InvalidRequestError(f"{param}: only assistant messages may have tool calls", param=param)
        text = with_pictures(self.content or "", self.images)
        return Message(self.role, text, tuple(each.call for each in self.tool_calls or ()))


class OllamaChatRequest(OllamaRequest):
    """A request of Ollama's chat API. Without messages, the request only asks whether the model is loaded."""

    examples = (
        {"model": MODEL, "messages": CHAT, "options": {"num_predict": 5, "seed": 3}},
        {"model": MODEL, "messages": CHAT, "stream": False, "tools": [TOOL], "think": False},
    )

    messages: Annotated[list[OllamaMessage], Field(max_length=MAX_MESSAGES)] | None = optional(
        "messages with the roles system, user, assistant and tool; a note takes the place of `images`; none loads the "
        "model"
    )
    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS)] | None = optional("functions that the model may call")

    @property
    def only_unloads(self) -> bool:
        """Whether the request asks for nothing but the end of the model in memory."""
        return not self.messages and self.keep_alive == 0

    @cached_property
    def offer(self) -> ToolOffer:
        """The tools that the request offers."""
        return ToolOffer(functions=[tool.function.model_dump(exclude_none=True) for tool in self.tools or ()])

    def turns(self) -> list[Message]:
        """Return the messages for the chat template, with the tools first. The answer's beginning is not among them.

        Raises:
            InvalidRequestError: as `OllamaMessage.turn`, or the last message is a call.
        """
        turns = [message.turn(f"messages[{index}]") for index, message in enumerate(self.messages or [])]
        if turns and turns[-1].role == "assistant" and turns.pop().tool_calls:
            param = f"messages[{len(turns)}].tool_calls"
            raise InvalidRequestError(f"{param}: the results of the calls must follow", param=param)
        return [*self.offer.messages, *turns]

    @property
    def opening(self) -> str:
        """The beginning of the answer: the last message, if it is the assistant's."""
        last = self.messages[-1] if self.messages else None
        return last.content or "" if last is not None and last.role == "assistant" else ""

    def client_field(self, engine_param: str) -> str:
        """Return the client's name of the field behind an engine parameter, for error messages."""
        return "messages" if engine_param == "prompt" else super().client_field(engine_param)
