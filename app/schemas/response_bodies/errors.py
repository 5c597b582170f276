"""Error in a response body."""

from typing_extensions import TypedDict


class ErrorBody(TypedDict):
    """An error: what happened and what to do next.

    param: the field at fault.
    """

    message: str
    type: str | None
    param: str | None
    code: str | None
