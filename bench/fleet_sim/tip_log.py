"""Tips of a simulated replica: like `ChainBook`, but driven by events instead of looking up."""

from collections.abc import Sequence


class TipLog:
    """The published ends of chains of one tier, and the changes since they were last taken."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}
        self._children: dict[int, int] = {}
        self._tips: set[int] = set()
        self._gained: dict[int, None] = {}
        self._lost: dict[int, None] = {}

    def add(self, names: Sequence[int], start: int) -> None:
        """Record that the tier holds a chain, of which it held the first `start` blocks before."""
        parent = names[start - 1] if start else 0
        for name in names[start:]:
            if name not in self._parents:
                self._parents[name] = parent
                if parent:
                    self._children[parent] = self._children.get(parent, 0) + 1
                    self._publish_or_withdraw(parent)
                self._publish_or_withdraw(name)
            parent = name

    def remove(self, name: int) -> None:
        """Record that the tier no longer holds a block."""
        parent = self._parents.pop(name, None)
        if parent is None:
            return
        self._children.pop(name, None)
        self._set(name, is_published=False)
        if parent in self._parents:
            self._children[parent] = self._children.get(parent, 1) - 1
            self._publish_or_withdraw(parent)

    def _publish_or_withdraw(self, name: int) -> None:
        # An end, or a place where chains part.
        self._set(name, is_published=self._children.get(name, 0) != 1)

    def _set(self, name: int, *, is_published: bool) -> None:
        if is_published == (name in self._tips):
            return
        if is_published:
            self._tips.add(name)
        else:
            self._tips.discard(name)
        before, after = (self._lost, self._gained) if is_published else (self._gained, self._lost)
        if name in before:
            del before[name]
        else:
            after[name] = None

    @property
    def has_changed(self) -> bool:
        """Whether `take` would return any name."""
        return bool(self._gained or self._lost)

    def take(self) -> tuple[list[int], list[int]]:
        """Return the names that were gained and lost since the last call."""
        gained, lost = list(self._gained), list(self._lost)
        self._gained.clear()
        self._lost.clear()
        return gained, lost
