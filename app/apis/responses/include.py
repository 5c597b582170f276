"""The parameter `include`, which asks for additional data in a response.

A response has log probabilities on the connection that creates it. Ebb has none of the other data: a client that asks
for the output of tools that OpenAI's servers run, or for encrypted reasoning, gets a correct response without it.
"""

from typing import Annotated, Final, Literal, Self, get_args

from starlette.datastructures import QueryParams

from app.http.query_params import Param, Query
from engine.api.errors import InvalidRequestError

Includable = Literal[
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
    "file_search_call.results",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "message.input_image.image_url",
    "message.output_text.logprobs",
]
LOGPROBS: Final = "message.output_text.logprobs"


def _checked(name: str, param: str) -> str:
    if name and name not in get_args(Includable):
        raise InvalidRequestError(f"{param}: {name[:100]} is not supported", param=param, code="unsupported")
    return name


class IncludeQuery(Query):
    """The parameter `include`, which a client may repeat, also as `include[]`."""

    include: Annotated[str, Param({"type": "array", "items": {"enum": list(get_args(Includable))}}, _checked)] = ""

    @classmethod
    def parse(cls, given: QueryParams) -> Self:
        """Return the parameters. Raise InvalidRequestError if any `include` asks for unknown data."""
        for name in (*given.getlist("include"), *given.getlist("include[]")):
            _checked(name, "include")
        return super().parse(given)
