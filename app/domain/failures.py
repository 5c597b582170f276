"""Errors that clients receive when the engine gives no answer, or only part of one."""

from engine.api.errors import ClientError, EbbError, EngineError, NotReadyError, OverloadedError, TimeoutPassedError
from engine.api.outputs import RequestOutput


class FormNotMetError(ClientError):
    """400: the requested output format has no end, or is too expensive to follow."""

    code = "form_not_met"


def failure_of(last: RequestOutput) -> EbbError | None:
    """Return the error with which a request ended, by its last output. None for an answer, even one cut short."""
    match last.finish_reason:
        case "stop" | "length":
            return None
        case "timeout":
            if last.usage is not None and last.usage.completion_tokens:
                return None
            return TimeoutPassedError("The request's timeout passed before its first token", param="timeout")
        case "queue_timeout":
            return OverloadedError(
                last.error or "The request waited too long for its turn",
                retry_after=last.retry_after or 1,
                code="queue_timeout",
            )
        case "abort":
            return NotReadyError("The server is stopping", code="server_restart")
        case "error" if last.error_path is not None:
            path = f"{last.error_path}: " if last.error_path else ""
            return FormNotMetError(f"{path}{last.error}", param=last.error_path or None)
        case _:
            return EngineError(last.error or "The engine failed")
