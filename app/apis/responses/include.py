"""The parameter `include`, which asks for additional data in a response.

A response has log probabilities on the connection that creates it. Ebb has none of the other data: a client that asks
for the output of tools that OpenAI's servers run, or for encrypted reasoning, gets a correct response without it.
"""

from typing import Final, Literal, get_args

from starlette.datastructures import QueryParams

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


def check_include(query: QueryParams) -> None:
    """Check the parameter of a query. Raise InvalidRequestError if it asks for unknown data."""
    for name in (*query.getlist("include"), *query.getlist("include[]")):
        if name and name not in get_args(Includable):
            raise InvalidRequestError(f"include: {name[:100]} is not supported", param="include", code="unsupported")
