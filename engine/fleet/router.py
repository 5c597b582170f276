"""Choice of the replica that computes a request: least predicted work, where a known prefix is no work."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.block_key import BlockKey, extend_keys
from engine.fleet.prediction import ReplicaLoad, predicted_work

MAX_KEYS: Final = 1 << 16
"""Blocks that the router remembers per replica, the most recently used ones."""


LONG_PROMPT: Final = 8192
"""Prompt length in tokens from which hashing takes about a millisecond."""


@dataclass(slots=True)
class Seat:
    """The router's view of one replica.

    known: keys of blocks that the replica has computed, the least recently used first.
    """

    load: ReplicaLoad = field(default_factory=ReplicaLoad)
    known: OrderedDict[BlockKey, None] = field(default_factory=OrderedDict)

    def num_known(self, keys: Sequence[BlockKey]) -> int:
        """Return the number of leading `keys` that the replica has computed."""
        return next((index for index, key in enumerate(keys) if key not in self.known), len(keys))

    def note(self, keys: Sequence[BlockKey]) -> None:
        """Remember that the replica computes these blocks."""
        # Backwards, so that the end of a chain is forgotten first.
        for key in reversed(keys):
            self.known[key] = None
            self.known.move_to_end(key)
        while len(self.known) > MAX_KEYS:
            self.known.popitem(last=False)


@dataclass(slots=True)
class Ticket:
    """A request's work on the replica that was chosen for it. Call `started` and `ended` at most once each."""

    seat: Seat
    new_tokens: int
    is_waiting: bool = True

    def started(self) -> None:
        """Note that the answer has its first token."""
        if self.is_waiting:
            self.is_waiting = False
            self.seat.load.waiting_tokens -= self.new_tokens

    def ended(self) -> None:
        """Note that the answer has ended, or continues on another replica."""
        self.started()
        self.seat.load.answers -= 1


class Router:
    """Router over replicas that come and go. Keys are exact, since the gateway has the token ids."""

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size

    async def keys_of(self, token_ids: Sequence[int], tenant: str) -> list[BlockKey]:
        """Return the keys of the full blocks of a tenant's prompt. They never leave the gateway.

        A long prompt is hashed on another thread.
        """
        root = BlockKey(hashlib.sha256(tenant.encode()).digest())
        if len(token_ids) < LONG_PROMPT:
            return extend_keys(root, token_ids, self._block_size)
        return await asyncio.to_thread(extend_keys, root, token_ids, self._block_size)

    def choose(self, seats: Collection[Seat], keys: Sequence[BlockKey], num_tokens: int) -> Seat:
        """Return the seat with the least predicted work for a prompt; among equals the longest known prefix.

        seats: of the replicas that serve, at least one.
        """
        return min(seats, key=lambda seat: (self._work(seat, keys, num_tokens), -seat.num_known(keys)))

    def _work(self, seat: Seat, keys: Sequence[BlockKey], num_tokens: int) -> int:
        return predicted_work(seat.load, self._new_tokens(seat, keys, num_tokens))

    def _new_tokens(self, seat: Seat, keys: Sequence[BlockKey], num_tokens: int) -> int:
        return num_tokens - self._block_size * seat.num_known(keys)

    def admit(self, seat: Seat, keys: Sequence[BlockKey], num_tokens: int, num_answers: int) -> list[Ticket]:
        """Charge a request to the seat that was chosen for it, and return a ticket for each of its answers."""
        new_tokens = self._new_tokens(seat, keys, num_tokens)
        seat.note(keys)
        # The prompt is computed once, for the first answer.
        tickets = [Ticket(seat, new_tokens if choice == 0 else 0) for choice in range(num_answers)]
        seat.load.waiting_tokens += new_tokens
        seat.load.answers += num_answers
        return tickets
