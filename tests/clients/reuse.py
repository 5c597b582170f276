"""Check that the turns of a conversation reuse each other's KV."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any


def assert_found_again(turns: Sequence[Mapping[str, Any]]) -> None:
    """Assert that each turn found everything before its own question.

    turns: for each turn, `total` tokens of prompt and answer, and the `cached` ones of its prompt.
    """
    assert len(turns) > 1
    for before, after in pairwise(turns):
        # KV of an answer's last token is never computed.
        assert after["cached"] >= before["total"] - 1, turns
