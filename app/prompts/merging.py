"""Request that merges several answers into one."""

from collections.abc import Sequence
from typing import Final

TASK: Final = (
    "Other answers to the same question follow. Write one answer that takes the best of them and of yours: keep what "
    "is correct and useful, say everything once, and leave out mistakes. Use the same language. Write the answer "
    "alone, without a word about the other answers."
)


def merge_request(others: Sequence[str]) -> str:
    """Return the user's message that follows an answer and asks to merge `others` with it."""
    return "\n\n".join([TASK, *(f"Answer {number}:\n{text}" for number, text in enumerate(others, 2))])
