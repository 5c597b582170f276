"""Pieces of an answer, as a run's log has them."""

from typing import NamedTuple


class Delta(NamedTuple):
    """One piece of text, and the number of its event. is_thought: the piece is reasoning, not part of the answer."""

    number: int
    text: str
    is_thought: bool = False
