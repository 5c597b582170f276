"""POST /api/generate."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from app.apis.ollama.request import OllamaRequest
from app.domain.bounds import MAX_MESSAGES
from app.schemas.examples import MODEL
from app.schemas.foreign import Picture, with_pictures
from app.schemas.parsing import optional
from engine.api.errors import InvalidRequestError
from models.chat.format import Message


class OllamaGenerateRequest(OllamaRequest):
    """A request of Ollama's API for one prompt. Without a prompt, the request only asks whether the model is loaded."""

    examples = (
        {"model": MODEL, "prompt": "Once", "system": "Be brief."},
        {"model": MODEL, "prompt": "Once", "raw": True, "format": "json", "stream": False},
    )

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **OllamaRequest.neutral,
        "context": ([],),
        "suffix": ("",),
        "template": ("",),
    }

    prompt: str | None = optional("a question, which is put into the chat template; none loads the model")
    images: Annotated[list[Picture], Field(max_length=MAX_MESSAGES)] | None = optional("a note takes their place")
    system: str | None = optional("system message before the prompt")
    raw: bool | None = optional(
        "continues the prompt as it is, without the template; the name of a control token stands for that token"
    )

    @property
    def only_unloads(self) -> bool:
        """Whether the request asks for nothing but the end of the model in memory."""
        return not self.prompt and self.keep_alive == 0

    def turns(self) -> list[Message]:
        """Return the messages for the chat template."""
        system = [Message("system", self.system)] if self.system else []
        return [*system, Message("user", with_pictures(self.prompt or "", self.images))]

    def check_raw(self) -> None:
        """Raise InvalidRequestError if a raw prompt comes with a system message, which has no place in it."""
        if self.raw and self.system:
            raise InvalidRequestError(
                "system: a raw prompt is not put into the chat template, so it must contain the system message itself",
                param="system",
            )
