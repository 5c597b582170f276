"""Response bodies of drafts."""

from typing_extensions import TypedDict


class Draft(TypedDict):
    """Text that was typed and not sent.

    updated_at: time of the last change; null if no draft was ever saved.
    """

    text: str
    updated_at: float | None
