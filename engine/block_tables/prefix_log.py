"""Log of recently computed prefixes, wherever their blocks are now.

The log tells how much of a request's prompt was computed before, and where the prompt diverges from it. Keys begin with
the tenant's salt, so prompts of different tenants are never compared, and a tenant cannot learn about another one's.
"""

from collections.abc import Iterable, Iterator, Sequence

from cache_tiers.owners.block_key import BlockKey, block_key
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys
from engine.api.outputs import KnownPrefix
from engine.kv.partial_index import PackedIds, PartialIndex, packed, unpacked
from engine.request.request import Request

MAX_TOKENS = 1 << 18
"""Default size of the log in tokens, which take 5 MB in blocks of 64 and 13 MB in blocks of 16."""
CONTINUATION = 8
"""Tokens to report of an earlier prompt's continuation."""


class PrefixLog:
    """Runs of at most one block of tokens, each linked to the run before it.

    The log holds at most `most_tokens` tokens. Beyond that, the owner with the most tokens drops its least recently
    used runs, the end of a chain first.
    """

    def __init__(self, owners: Owners, block_size: int, *, most_tokens: int = MAX_TOKENS) -> None:
        self._block_size = block_size
        self._most_tokens = most_tokens
        self._index: PartialIndex[BlockKey] = PartialIndex()
        self._runs: OwnedKeys[BlockKey, tuple[BlockKey, PackedIds]] = OwnedKeys(owners)

    @property
    def num_tokens(self) -> int:
        """Number of tokens in the log."""
        return self._runs.size

    def add(self, request: Request) -> None:
        """Record the first `num_confirmed_tokens` tokens of a finished request, which were computed or cached."""
        size, stop = self._block_size, request.num_confirmed_tokens
        keys = request.block_keys[: stop // size]
        for index, key in enumerate(keys):
            if key not in self._runs:
                self._add(request.key_before(index), key, request.token_ids(index * size, (index + 1) * size))
        partial = request.token_ids(len(keys) * size, stop)
        if partial and stop // size <= len(request.block_keys):
            parent = request.key_before(len(keys))
            keys.append(block_key(parent, partial))
            if keys[-1] not in self._runs:
                self._add(parent, keys[-1], partial)
        for key in reversed(keys):
            self._runs.use(key)
        while self._runs.size > self._most_tokens:
            self._forget(self._runs.next_to_go())

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Erase the runs of `keys`. Runs after them can no longer be reached, and age out."""
        for key in keys:
            if key in self._runs:
                self._forget(key)

    def longest(self, request: Request) -> KnownPrefix:
        """Return the longest known prefix of the prompt, and how an earlier prompt continued after it."""
        size = self._block_size
        unknown = (index for index, key in enumerate(request.block_keys) if key not in self._runs)
        full = next(unknown, len(request.block_keys))
        parent = request.key_before(full)
        known = request.token_ids(full * size, min((full + 1) * size, request.num_tokens))
        match = self._index.find(parent, packed(known)) if known else None
        if match is None:
            return KnownPrefix(full * size, self._continuation(parent, ()))
        rest = self._tokens_of(match.partial)[match.num_tokens :]
        return KnownPrefix(full * size + match.num_tokens, self._continuation(match.partial, rest))

    def _continuation(self, key: BlockKey, first: tuple[int, ...]) -> tuple[int, ...]:
        tokens = first
        for more in self._following(key):
            if len(tokens) >= CONTINUATION:
                break
            tokens += more
        return tokens[:CONTINUATION]

    def _following(self, key: BlockKey) -> Iterator[tuple[int, ...]]:
        while (child := self._index.first(key)) is not None:
            yield self._tokens_of(child)
            key = child

    def _tokens_of(self, key: BlockKey) -> tuple[int, ...]:
        run = self._runs.get(key)
        assert run is not None
        return unpacked(run[1])

    def _add(self, parent: BlockKey, key: BlockKey, token_ids: Sequence[int]) -> None:
        ids = packed(token_ids)
        for shorter in self._index.begun_by(parent, ids):
            self._forget(shorter)
        self._index.add(parent, ids, key)
        self._runs.put(key, (parent, ids), len(token_ids))

    def _forget(self, key: BlockKey) -> None:
        run = self._runs.pop(key)
        assert run is not None
        self._index.remove(*run)
