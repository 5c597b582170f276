"""What was computed lately, wherever its blocks are now: so that a request can be told how much of its prompt was
known, and where it parts from what was.

Blocks are known by their keys, which begin with the tenant's salt: what one tenant asked is never compared with what
another one did, and nobody can learn of it here.
"""

from collections.abc import Iterable, Iterator

from cache_tiers.block_key import BlockKey, block_key
from cache_tiers.owned_keys import OwnedKeys
from cache_tiers.owners import Owners
from engine.kv.tail_index import TailIndex, TokenIds
from engine.outputs import KnownPrefix
from engine.request import Request

MOST_TOKENS = 1 << 18
"""That are remembered: less than 12 MB."""
CONTINUATION = 8
"""Tokens of how the other one goes on."""


class PrefixLog:
    """Runs of at most a block, each behind the one before it.

    At most `most_tokens` are remembered: the owner with most of them forgets its longest unused runs, what follows
    before what it follows.
    """

    def __init__(self, owners: Owners, block_size: int, *, most_tokens: int = MOST_TOKENS) -> None:
        self._block_size = block_size
        self._most_tokens = most_tokens
        self._index: TailIndex[BlockKey] = TailIndex()
        self._runs: OwnedKeys[BlockKey, tuple[BlockKey, TokenIds]] = OwnedKeys(owners)

    @property
    def num_tokens(self) -> int:
        """Tokens that are remembered."""
        return self._runs.size

    def add(self, request: Request) -> None:
        """It has ended: its first `num_confirmed_tokens` were computed, or found."""
        size, stop = self._block_size, request.num_confirmed_tokens
        keys = request.block_keys[: stop // size]
        for index, key in enumerate(keys):
            if key not in self._runs:
                self._add(request.key_before(index), key, request.token_ids(index * size, (index + 1) * size))
        tail = request.token_ids(len(keys) * size, stop)
        if tail and stop // size <= len(request.block_keys):
            parent = request.key_before(len(keys))
            keys.append(block_key(parent, tail))
            if keys[-1] not in self._runs:
                self._add(parent, keys[-1], tail)
        for key in reversed(keys):
            self._runs.use(key)
        while self._runs.size > self._most_tokens:
            self._forget(self._runs.next_to_go())

    def erase(self, keys: Iterable[BlockKey]) -> None:
        """Forget these runs; what follows them cannot be reached any more, and ages out."""
        for key in keys:
            if key in self._runs:
                self._forget(key)

    def longest(self, request: Request) -> KnownPrefix:
        """The longest beginning of its prompt that is known, and how it went on there."""
        size = self._block_size
        unknown = (index for index, key in enumerate(request.block_keys) if key not in self._runs)
        full = next(unknown, len(request.block_keys))
        parent = request.key_before(full)
        known = request.token_ids(full * size, min((full + 1) * size, request.num_tokens))
        match = self._index.find(parent, known) if known else None
        if match is None:
            return KnownPrefix(full * size, self._continuation(parent, ()))
        rest = self._tokens_of(match.tail)[match.num_tokens :]
        return KnownPrefix(full * size + match.num_tokens, self._continuation(match.tail, rest))

    def _continuation(self, key: BlockKey, first: TokenIds) -> TokenIds:
        tokens = first
        for more in self._following(key):
            if len(tokens) >= CONTINUATION:
                break
            tokens += more
        return tokens[:CONTINUATION]

    def _following(self, key: BlockKey) -> Iterator[TokenIds]:
        while (child := self._index.first(key)) is not None:
            yield self._tokens_of(child)
            key = child

    def _tokens_of(self, key: BlockKey) -> TokenIds:
        run = self._runs.get(key)
        assert run is not None
        return run[1]

    def _add(self, parent: BlockKey, key: BlockKey, token_ids: TokenIds) -> None:
        for shorter in self._index.begun_by(parent, token_ids):
            self._forget(shorter)
        self._index.add(parent, token_ids, key)
        self._runs.put(key, (parent, token_ids), len(token_ids))

    def _forget(self, key: BlockKey) -> None:
        run = self._runs.pop(key)
        assert run is not None
        self._index.remove(*run)
