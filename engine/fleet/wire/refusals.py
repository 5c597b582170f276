"""The engine's errors on their way through the wire."""

from engine.api.errors import (
    ConflictError,
    EbbError,
    EngineError,
    InvalidRequestError,
    NotFoundError,
    NotReadyError,
    OutageError,
    OverloadedError,
    PromptTooLongError,
)
from engine.fleet.wire.messages import Refused

_PLAIN = {
    kind.__name__: kind
    for kind in (InvalidRequestError, NotFoundError, ConflictError, NotReadyError, OutageError, EngineError)
}


def refusal_of(call: int, error: EbbError) -> Refused:
    """Return the message of an error that a call raised."""
    refused = Refused(call, type(error).__name__, error.message, error.code, error.param)
    match error:
        case PromptTooLongError():
            return _with(refused, num_tokens=error.num_tokens, maximum=error.maximum)
        case OverloadedError():
            return _with(refused, retry_after=error.retry_after)
        case _:
            return refused


def _with(refused: Refused, retry_after: int = 0, num_tokens: int | None = None, maximum: int = 0) -> Refused:
    return Refused(
        refused.call,
        refused.kind,
        refused.message,
        refused.code,
        refused.param,
        retry_after,
        num_tokens,
        maximum,
    )


def error_of(refused: Refused) -> EbbError:
    """Return the error of a message. An unknown kind becomes an EngineError."""
    message, param, code = refused.message, refused.param, refused.code
    if refused.kind == PromptTooLongError.__name__:
        return PromptTooLongError(
            message, param=param or "prompt", num_tokens=refused.num_tokens, maximum=refused.maximum
        )
    if refused.kind == OverloadedError.__name__:
        return OverloadedError(message, retry_after=refused.retry_after, code=code)
    return _PLAIN.get(refused.kind, EngineError)(message, param=param, code=code)
