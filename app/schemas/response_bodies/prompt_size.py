"""Response body of /api/prompt-size."""

from typing_extensions import TypedDict


class PromptSize(TypedDict):
    """The size of a prompt that is not sent yet.

    tokens: null if the prompt is so far beyond the window that it was not counted.
    window: size of the context window. Prompt and answer share it, so a prompt must be smaller.
    """

    tokens: int | None
    window: int
