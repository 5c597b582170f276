"""The pieces in which an answer comes."""

from typing import NamedTuple


class Delta(NamedTuple):
    """One piece of text, and the number of its event. is_thought: it is reasoning, and no part of the answer's text."""

    number: int
    text: str
    is_thought: bool = False
