"""Errors that Ebb raises on purpose.

EbbError
├── ClientError              the request is wrong; the message is shown to the client
│   ├── InvalidRequestError  400: a field is missing, of a wrong type or out of range
│   │   └── PromptTooLongError   the prompt does not fit in the context window
│   ├── NotFoundError        404: unknown model, conversation, message or run
│   ├── TimeoutPassedError   408: the request's own timeout passed before its first token
│   ├── ConflictError        409: the state does not allow it now
│   └── OverloadedError      429: try again after `retry_after` seconds
└── ServerError              a fault of the server; details go to the log, one sentence to the client
    ├── NotReadyError        503: still starting or already stopping
    ├── OutageError          503: a required service is unavailable; try again after `retry_after` seconds
    └── EngineError          500: a step failed, or an invariant was broken
"""

import asyncio
from typing import Final

FOR_THE_PROCESS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""Exceptions that end a task or the process, and are never a defect.

A guard in the engine catches every other BaseException, because a panic in native code is not an Exception.
"""


class EbbError(Exception):
    """Base class of all errors.

    code: machine-readable name for clients.
    param: the field at fault; None if no single field is.
    """

    status = 500
    code = "internal_error"

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        if code is not None:
            self.code = code


class ClientError(EbbError):
    """The request cannot be served as it is."""

    status = 400
    code = "invalid_request_error"


class InvalidRequestError(ClientError):
    """A field is missing, of a wrong type, or out of range."""


class PromptTooLongError(InvalidRequestError):
    """The prompt does not fit in the context window. Clients recognize this error and shorten the conversation.

    num_tokens: length of the prompt; None if it was so long that it was not counted.
    maximum: number of tokens that fit.
    """

    code = "context_length_exceeded"

    def __init__(self, message: str, *, param: str, num_tokens: int | None, maximum: int) -> None:
        super().__init__(message, param=param)
        self.num_tokens = num_tokens
        self.maximum = maximum


class NotFoundError(ClientError):
    """An object that the request names does not exist."""

    status = 404
    code = "not_found"


class TimeoutPassedError(ClientError):
    """The request's own timeout passed before its first token."""

    status = 408
    code = "timeout"


class ConflictError(ClientError):
    """The state of a named object does not allow the request now."""

    status = 409
    code = "conflict"


class OverloadedError(ClientError):
    """Too much work is queued. The client may try again after `retry_after` seconds."""

    status = 429
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: int = 1, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class ServerError(EbbError):
    """A fault of the server, with details in the log."""


class NotReadyError(ServerError):
    """The engine is still starting, or already stopping."""

    status = 503
    code = "not_ready"


class OutageError(ServerError):
    """A service or resource that the server needs is unavailable or full, and may recover. This is not a defect."""

    status = 503
    code = "outage"
    retry_after = 5
    """Seconds."""


class EngineError(ServerError):
    """A step failed or an invariant was broken."""

    code = "engine_error"
