"""Every error that Ebb raises on purpose.

EbbError
├── ClientError              the request is wrong; the message is shown to the client
│   ├── InvalidRequestError  400: a field is missing, of a wrong type or out of range
│   ├── NotFoundError        404: unknown model, conversation, message or run
│   ├── ConflictError        409: the state does not allow it now
│   └── OverloadedError      429: try again after `retry_after` seconds
└── ServerError              our fault; detail goes to the log, one sentence to the client
    ├── NotReadyError        503: still starting or already stopping
    ├── OutageError          503: something that the server needs is away; try again after `retry_after` seconds
    └── EngineError          500: a step failed, or an invariant was broken
"""

import asyncio
from typing import Final

FOR_THE_PROCESS: Final = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)
"""Exceptions that end a task or the process, and are never a defect. Where the engine guards a call it catches every
other BaseException, because a panic in native code is no Exception."""


class EbbError(Exception):
    """Root of the tree. `code` is the machine-readable name sent to clients."""

    status = 500
    code = "internal_error"

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        if code is not None:
            self.code = code


class ClientError(EbbError):
    """The request cannot be served as it is; `param` names the field at fault."""

    status = 400
    code = "invalid_request_error"


class InvalidRequestError(ClientError):
    """A field is missing, of a wrong type, or out of range."""


class NotFoundError(ClientError):
    """What the request names does not exist."""

    status = 404
    code = "not_found"


class ConflictError(ClientError):
    """The named thing exists, but its state does not allow this now."""

    status = 409
    code = "conflict"


class OverloadedError(ClientError):
    """Too much work is queued; the client may try again after `retry_after` seconds."""

    status = 429
    code = "overloaded"

    def __init__(self, message: str, *, retry_after: int = 1, code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class ServerError(EbbError):
    """Our fault: the log has the detail."""


class NotReadyError(ServerError):
    """The engine is still starting, or already stopping."""

    status = 503
    code = "not_ready"


class OutageError(ServerError):
    """Something that the server needs is away or full, and may come back by itself. Nothing is wrong with the code."""

    status = 503
    code = "outage"
    retry_after = 5
    """Seconds."""


class EngineError(ServerError):
    """A step failed or an invariant was broken."""

    code = "engine_error"
