"""What requests left in the tiers, as their caller knows it: by its tokens."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trail:
    """Tokens that requests computed, one going on from the other.

    num_shared: how many of the first ones something else begins with too: full blocks of these are to stay.
    ends: how many tokens had been computed when a request ended: its last block may have been left partly filled.
    """

    token_ids: Sequence[int]
    num_shared: int = 0
    ends: Sequence[int] = ()
