"""Owners of cache memory: their ids in the keys of blocks, and the names and weights that the server knows."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from cache_tiers.owners.block_key import Owner

PUBLIC: Final = "(public)"
"""Name of the content that all tenants share. No tenant has a name in brackets."""

OTHERS: Final = "(others)"
"""Name for all tenants that are not among the largest, and for those whose name has been forgotten."""

DEFAULT_WEIGHT: Final = 1.0
MAX_NAMES: Final = 1 << 16


class Owners:
    """The names and weights of owners. Thread-safe.

    A key carries a digest of its owner, so a name is known once a request of that owner has been seen. At most
    `most` names are kept, the last seen ones; an owner without a name weighs `DEFAULT_WEIGHT`.

    weights: by name; an owner that is not listed weighs `DEFAULT_WEIGHT`.
    """

    def __init__(self, weights: Mapping[str, float] | None = None, *, most: int = MAX_NAMES) -> None:
        self._weights = weights or {}
        self._most = most
        self._lock = threading.Lock()
        self._names: OrderedDict[Owner, str] = OrderedDict()

    def note(self, owner: Owner, name: str) -> None:
        """Learn that the keys of `owner` belong to the tenant `name`."""
        with self._lock:
            self._names[owner] = name
            self._names.move_to_end(owner)
            if len(self._names) > self._most:
                self._names.popitem(last=False)

    def name(self, owner: Owner) -> str | None:
        """Return the name of `owner`; None if no request of that owner has been seen."""
        with self._lock:
            return self._names.get(owner)

    def weight(self, owner: Owner) -> float:
        """Return the weight of `owner` in the division of memory."""
        if not self._weights:
            return DEFAULT_WEIGHT
        name = self.name(owner)
        return self._weights.get(name, DEFAULT_WEIGHT) if name is not None else DEFAULT_WEIGHT
