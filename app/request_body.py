"""The body of a request, read with a limit."""

from typing import TypeVar

from starlette.requests import Request

from app.error_responses import BodyTooLargeError
from app.limits import MAX_BODY_BYTES
from app.schemas.parsing import RequestModel, parse_body

Model = TypeVar("Model", bound=RequestModel)


async def read_body(request: Request, model: type[Model]) -> Model:
    """Read and check the JSON body.

    Raises:
        BodyTooLargeError: more than MAX_BODY_BYTES, told by Content-Length or by what came.
        InvalidRequestError: the body is not what `model` says.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    return parse_body(model, bytes(body))


def _too_large() -> BodyTooLargeError:
    return BodyTooLargeError(f"The body is larger than {MAX_BODY_BYTES >> 20} MiB")
