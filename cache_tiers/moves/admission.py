"""Which blocks are written to the lower tiers although their requests belong to no stored conversation.

Most blocks of single calls are never used again. They stay in CPU memory, and are written once a request finds them
there. A request that finds all of an earlier prompt, up to a block that no request before had, continues a conversation
that its client sends again each time. So its own blocks are written too.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys

MAX_ENDS: Final = 1 << 14
"""Ends of prompts and answers that are remembered, at about 200 bytes each."""


class Admitting(Protocol):
    """A store of blocks, some of which are deferred."""

    def admit(self, keys: Sequence[BlockKey]) -> None:
        """Write those of the blocks that are deferred."""


class Admission:
    """The ends of earlier requests. Called from one thread."""

    def __init__(self, store: Admitting, owners: Owners) -> None:
        self._store = store
        self._ends: OwnedKeys[BlockKey, None] = OwnedKeys(owners)

    def on_used(self, chain: Sequence[BlockKey], num_found: int, num_prompt: int, *, at_once: bool) -> None:
        """Admit blocks of a request that has ended.

        chain: its full blocks. The first `num_found` were found, and the first `num_prompt` are the prompt's.
        at_once: the request's own blocks were not deferred. Found blocks may have been.
        """
        # An end is continued once. Instructions that many calls share may be the end of a short one.
        continued = [key for key in chain[:num_found] if key in self._ends]
        for key in continued:
            self._ends.pop(key)
        self._store.admit(chain if at_once or continued else chain[:num_found])
        # A turn that fills no block leaves the end where it was.
        own = {*chain[num_found:num_prompt][-1:], *chain[num_found:][-1:]}
        for key in own or continued[-1:]:
            self._ends.put(key, None)
            if len(self._ends) > MAX_ENDS:
                self._ends.pop(self._ends.next_to_go())
