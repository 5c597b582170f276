"""Memory that waiting writes keep from being evicted, over all tiers together."""

import threading
from dataclasses import dataclass, field
from typing import Final

from cache_tiers.lower.jobs import Job
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.fair_line import FairLine
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import MemoryShares


@dataclass(slots=True, eq=False)
class _Holding:
    """Memory that at least one write waits for.

    memory: the object that stands for it. Kept, so that no other object gets its identity.
    waiting: the job of each line in which a write of this memory waits.
    """

    memory: object
    owner: Owner
    nbytes: int
    waiting: dict["WriteLine", Job] = field(default_factory=dict)


class _Pile:
    """Holdings by owner, in the order in which they were added."""

    def __init__(self, owners: Owners) -> None:
        self._holdings: dict[Owner, dict[_Holding, None]] = {}
        self._shares = MemoryShares(owners)

    def __bool__(self) -> bool:
        return bool(self._holdings)

    def add(self, holding: _Holding) -> None:
        self._holdings.setdefault(holding.owner, {})[holding] = None
        self._shares.take(holding.owner, holding.nbytes)
        self._shares.enter(holding.owner)

    def remove(self, holding: _Holding) -> None:
        holdings = self._holdings[holding.owner]
        del holdings[holding]
        if not holdings:
            del self._holdings[holding.owner]
        self._shares.give(holding.owner, holding.nbytes)

    def first_to_go(self) -> _Holding | None:
        """Return the newest holding of the owner with the most bytes for its weight; None if there is none."""
        loser = self._shares.first()
        return next(reversed(self._holdings[loser])) if loser is not None else None

    def first_to_go_for(self, owner: Owner, nbytes: int) -> _Holding | None:
        """Return the same; None if `owner` would have the most itself, with `nbytes` more."""
        self._shares.take(owner, nbytes)
        first = self.first_to_go()
        if first is not None and self._shares.level(first.owner) <= self._shares.level(owner):
            first = None
        self._shares.give(owner, nbytes)
        return first


class WriteAccount:
    """One bound for the memory that waits to be written to any of several tiers. Thread-safe.

    A block counts once, however many tiers it waits for. Before a block is put into the lines of the tiers, `make_room`
    gives up writes for which only the tier with the most waiting bytes waits. A tier that falls behind thereby loses
    its own writes, and never those of a tier that keeps up. If there still is no room, owners lose writes by their
    shares.

    lock: guards the account and all its lines.
    """

    def __init__(self, max_bytes: int, owners: Owners) -> None:
        """Create an empty account. max_bytes: bound of the bytes that wait, without those being written."""
        self.lock: Final = threading.Lock()
        self._max_bytes = max_bytes
        self._owners = owners
        self._nbytes = 0
        self._lines: list[WriteLine] = []
        self._holdings: dict[int, _Holding] = {}
        self._pile = _Pile(owners)

    def open_line(self) -> "WriteLine":
        """Return the line of one more tier."""
        line = WriteLine(self, self._owners)
        self._lines.append(line)
        return line

    def make_room(self, line: "WriteLine", nbytes: int) -> list[Job]:
        """See `WriteLine.make_room`."""
        shed: list[Job] = []
        while self._nbytes + nbytes > self._max_bytes:
            longest = self._longest()
            if longest is None or longest.nbytes <= line.nbytes:
                break
            loser = longest.alone.first_to_go()
            assert loser is not None
            shed += self._give_up(loser)
        return shed

    def enter(self, line: "WriteLine", job: Job, memory: object, nbytes: int, owner: Owner) -> list[Job]:
        """See `WriteLine.add`."""
        holding = self._holdings.get(id(memory))
        shed: list[Job] = []
        if holding is None:
            if nbytes > self._max_bytes:
                return [job]
            while self._nbytes + nbytes > self._max_bytes:
                loser = self._first_to_go(line, owner, nbytes)
                if loser is None:
                    return [*shed, job]
                shed += self._give_up(loser)
            holding = self._holdings[id(memory)] = _Holding(memory, owner, nbytes)
            self._nbytes += nbytes
            self._pile.add(holding)
        for each in holding.waiting:
            if len(holding.waiting) == 1:
                each.alone.remove(holding)
        holding.waiting[line] = job
        if len(holding.waiting) == 1:
            line.alone.add(holding)
        line.append(job, holding)
        return shed

    def leave(self, line: "WriteLine", holding: _Holding) -> None:
        """Note that the write of `holding` no longer waits in `line`."""
        if len(holding.waiting) == 1:
            line.alone.remove(holding)
        del holding.waiting[line]
        if not holding.waiting:
            del self._holdings[id(holding.memory)]
            self._pile.remove(holding)
            self._nbytes -= holding.nbytes
        for each in holding.waiting:
            if len(holding.waiting) == 1:
                each.alone.add(holding)

    def _give_up(self, holding: _Holding) -> list[Job]:
        """Take all writes of `holding` out, and return them."""
        jobs = list(holding.waiting.items())
        for line, job in jobs:
            line.remove(job, holding)
            self.leave(line, holding)
        return [job for _, job in jobs]

    def _longest(self) -> "WriteLine | None":
        """Return the line with the most bytes among those that could free memory; None if there is none."""
        return max((each for each in self._lines if each.alone), key=lambda each: each.nbytes, default=None)

    def _first_to_go(self, line: "WriteLine", owner: Owner, nbytes: int) -> _Holding | None:
        """Return what to give up for a write of `owner` in `line`; None if that write has to be given up."""
        if line.alone:
            return line.alone.first_to_go_for(owner, nbytes)
        longest = self._longest()
        if longest is not None and longest.nbytes > line.nbytes:
            return None
        return self._pile.first_to_go_for(owner, nbytes)


class WriteLine:
    """Writes that wait for one tier, in turns by owner. Use it only with the account's lock.

    nbytes: bytes that wait.
    alone: what no other tier waits for.
    """

    def __init__(self, account: WriteAccount, owners: Owners) -> None:
        self.nbytes = 0
        self.alone = _Pile(owners)
        self._account = account
        self._line: FairLine[Job, _Holding] = FairLine(owners)

    def make_room(self, nbytes: int) -> list[Job]:
        """Give up writes of tiers that have more waiting bytes, until `nbytes` more fit. Return these writes."""
        return self._account.make_room(self, nbytes)

    def add(self, job: Job, memory: object, nbytes: int, owner: Owner) -> list[Job]:
        """Add a write of `memory`, which has `nbytes` > 0. Return the writes shed for it: itself if it has no room.

        memory: the same object in every line that shares it.
        """
        return self._account.enter(self, job, memory, nbytes, owner)

    def take(self) -> Job | None:
        """Take the write whose turn it is; None if none waits."""
        turn = self._line.next()
        if turn is None:
            return None
        self._line.serve(turn, turn.value.nbytes)
        self.nbytes -= turn.value.nbytes
        self._account.leave(self, turn.value)
        return turn.key

    def append(self, job: Job, holding: _Holding) -> None:
        """Put a write that has room last in the line of its owner."""
        self._line.add(holding.owner, job, holding)
        self.nbytes += holding.nbytes

    def remove(self, job: Job, holding: _Holding) -> None:
        """Take out a write that is given up."""
        self._line.remove(holding.owner, job)
        self.nbytes -= holding.nbytes
