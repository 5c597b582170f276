"""Request bodies of POST /tokenize and /detokenize."""

from collections.abc import Mapping
from typing import Any, ClassVar

from app.apis.openai.chat_schema import ChatMessages
from app.apis.openai.tools_schema import ToolFields
from app.schemas.examples import CHAT
from app.schemas.parsing import CompatibleRequest
from app.schemas.sampling import ModelName, TokenId
from engine.api.errors import InvalidRequestError


class TokenizeRequest(CompatibleRequest, ToolFields):
    """A text, or messages with the tools of a request, with vLLM's fields.

    For messages, the chat template always adds what its model expects, such as the generation prompt.
    """

    examples = ({"prompt": "Once"}, {"messages": CHAT})

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "return_token_strs": (False,),
        "add_generation_prompt": (True,),
        "continue_final_message": (False,),
        "chat_template": (),
        "chat_template_kwargs": ({},),
        "mm_processor_kwargs": ({},),
    }

    model: ModelName | None = None
    prompt: str | None = None
    messages: ChatMessages | None = None
    add_special_tokens: bool | None = None

    def check(self) -> None:
        """Check that the fields are consistent. Raise InvalidRequestError."""
        if self.prompt is None and self.messages is None:
            raise InvalidRequestError("prompt or messages is required", param="prompt")
        if self.prompt is not None and self.messages is not None:
            raise InvalidRequestError("messages cannot be combined with prompt", param="messages")
        if self.messages is not None and self.add_special_tokens:
            raise InvalidRequestError(
                "add_special_tokens must be false with messages: the template adds the special tokens",
                param="add_special_tokens",
            )


class DetokenizeRequest(CompatibleRequest):
    """Token ids to convert to text."""

    examples = ({"tokens": [72, 105, 257]},)

    model: ModelName | None = None
    tokens: list[TokenId]

    def check(self, *, vocab_size: int, max_tokens: int) -> None:
        """Check the token ids.

        Raises:
            InvalidRequestError: an id is outside the vocabulary, or there are more than `max_tokens` ids.
        """
        if len(self.tokens) > max_tokens:
            raise InvalidRequestError(
                f"tokens has {len(self.tokens)} ids; this model's window is {max_tokens} tokens", param="tokens"
            )
        wrong = next((index for index, id_ in enumerate(self.tokens) if id_ >= vocab_size), None)
        if wrong is not None:
            raise InvalidRequestError(
                f"tokens[{wrong}] is {self.tokens[wrong]}, outside the vocabulary [0, {vocab_size})",
                param=f"tokens[{wrong}]",
            )
