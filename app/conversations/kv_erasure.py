"""Erasure of deleted conversations from the cache tiers, except for prefixes that other conversations share.

stored --leaving()--> owed, with shared blocks --compared--> owed, without shared blocks --erased everywhere--> done

The keys of the blocks are stored as owed erasures before the messages leave (app/storage/owed_erasures.py). Afterwards
the messages are compared with those that remain, and the deletion does not wait for that. While the database, a tier or
a replica is away, the erasure is repeated, also by the process that replaces this one. If the process ends before the
comparison, shared blocks are erased too, and computed again.

After seven days no tier has the blocks of a deleted conversation any more, and its owed erasures are dropped.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, TypeVar

from app.domain.answer_tokens import TokenNode, trails_of
from app.domain.storage_health import StorageUnavailableError
from app.domain.token_history import ID_BYTES, num_common, unpack_ids
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.storage.database import READ_SECONDS
from app.storage.errors import ReadTimeoutError
from app.storage.owed_erasures import OwedErasure
from app.storage.removals import Departure
from app.storage.store import Store
from app.storage.token_index import INDEXED_BYTES, TokenList
from cache_tiers.owners.block_key import BlockKey
from engine.api.errors import NotReadyError, OutageError
from engine.api.stored_tokens import Trail

T = TypeVar("T")

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0
"""Seconds until an erasure is repeated that could not be made."""
COMPARED_AT_ONCE: Final = 2
"""Deletions that are compared at a time. The next ones wait, so that their tokens are not in memory."""

logger = logging.getLogger(__name__)


class KVErasure:
    """Owner of the owed erasures, and of the tasks that compare deleted conversations with those that remain."""

    def __init__(self, host: EngineHost, store: Store, *, former: str | None, leads: Callable[[], bool]) -> None:
        """Prepare to erase.

        former: the server that this process replaces; None for no server.
        leads: whether this server tries the owed erasures of servers that have ended.
        """
        self._host = host
        self._owed = store.owed_erasures
        self._index = store.tokens
        self._shares = store.erasures if store.database.is_shared else None
        self._former = former
        self._leads = leads
        self._places = asyncio.Semaphore(COMPARED_AT_ONCE)
        self._comparing = set[int]()
        """Numbers of the rows that may name blocks which other conversations share."""
        self._missed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start the task that makes owed erasures once there is an engine, and repeats those that fail."""
        self._spawn(self._repeat)

    @asynccontextmanager
    async def leaving(self, nodes: Sequence[TokenNode], tenant: str) -> AsyncGenerator[Departure, None]:
        """Let messages of a tenant leave the store in the context, and erase their KV afterwards.

        If any of them stay, so does the KV that they share. Raise OutageError, and NotReadyError without an engine.
        """
        engine = self._host.engine
        if engine is None:
            raise NotReadyError(f"Nothing can be removed before the model is loaded: {self._host.progress}")
        departure = Departure(nodes)
        await self._take_place()
        try:
            trails = await asyncio.to_thread(_unshared, nodes)
            numbers = await self._owe(await self._host.keys_of_trails(trails, tenant=tenant))
        except BaseException:
            self._places.release()
            raise
        self._comparing.update(numbers)
        try:
            yield departure
        finally:
            task = self._spawn(partial(self._settle, engine, departure.nodes, tenant, numbers))
            task.add_done_callback(lambda _: self._places.release())

    async def _take_place(self) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self._places.acquire()
        except TimeoutError as error:
            raise StorageUnavailableError("Earlier deletions are not compared with other chats yet") from error

    def begin(self, nodes: Sequence[TokenNode], tenant: str) -> None:
        """Begin to erase the KV of a tenant's messages that the store does not have."""
        if self._host.engine is not None:
            self._spawn(partial(self._settle, self._host.engine, nodes, tenant, ()))

    async def take(self, trails: Sequence[Trail], tenant: str) -> None:
        """Owe an erasure that another server has compared, and begin to make it. Raise OutageError."""
        engine = await self._host.until_ready()
        keys = await self._host.keys_of_trails(trails, tenant=tenant)
        if keys:
            self._spawn(partial(self._attempt, engine, await self._owe(keys), keys))

    async def stop(self) -> None:
        """Cancel the erasures in progress, which are left to the next process."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(_logged(work), name="erase-kv")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _owe(self, keys: Sequence[BlockKey]) -> list[int]:
        return await self._owed.add(keys, time.time()) if keys else []

    async def _settle(self, engine: Backend, nodes: Sequence[TokenNode], tenant: str, numbers: Sequence[int]) -> None:
        """Compare messages with those that remain, and erase their KV.

        numbers: rows of the erasures that are owed until then.
        """
        try:
            trails = await _repeated(partial(self._trails, nodes, tenant))
            keys = await self._host.keys_of_trails(trails, tenant=tenant)
            if trails and self._shares is not None:
                await _repeated(partial(self._shares.add, tenant, trails))
            if keys or numbers:
                owed = await _repeated(partial(self._owed.replace, numbers, keys, time.time()))
                if keys:
                    self._spawn(partial(self._attempt, engine, owed, keys))
        finally:
            self._comparing.difference_update(numbers)

    async def _attempt(self, engine: Backend, numbers: Sequence[int], keys: Sequence[BlockKey]) -> None:
        if await engine.erase(keys):
            await _repeated(partial(self._owed.remove, numbers))
        else:
            self._missed.set()

    async def _repeat(self) -> None:
        """Make all owed erasures. While a tier is away, repeat those that it missed."""
        engine = await self._host.until_ready()
        await _repeated(partial(self._owed.adopt, self._former))
        waits = _waits()
        while True:
            self._missed.clear()
            if await self._are_made(engine):
                waits = _waits()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LONGEST_WAIT):
                        await self._missed.wait()
            else:
                await asyncio.sleep(next(waits))

    async def _are_made(self, engine: Backend) -> bool:
        try:
            return await _repeated(partial(self._make_all, engine))
        except Exception:
            logger.exception("the KV of deleted conversations could not be erased; the erasure will be retried")
            return False

    async def _make_all(self, engine: Backend) -> bool:
        """Make all owed erasures. Return False as soon as one cannot be made."""
        last = 0
        while rows := await self._owed.after(last):
            last = rows[-1].number
            due = [row for row in rows if row.number not in self._comparing]
            if not await _make(engine, due):
                return False
            await self._owed.remove([row.number for row in due])
        while self._shares is not None and self._leads() and (rows := await self._owed.of_absent()):
            if not await _make(engine, rows):
                return False
            await self._owed.note_tried([row.number for row in rows])
        return True

    async def _trails(self, deleted: Sequence[TokenNode], tenant: str) -> list[Trail]:
        """Return the trails of deleted messages, each with the length that stored conversations share."""
        trails: list[Trail] = []
        starts: dict[bytes, list[TokenList]] = {}
        for trail in await asyncio.to_thread(trails_of, deleted):
            # Branches usually share their beginning.
            first = trail.ids[:INDEXED_BYTES]
            if first not in starts:
                starts[first] = await self._index.starting_like(first, tenant)
            # Models of one family have equal token ids, and no common blocks.
            own = [each for each in starts[first] if each.model in (None, trail.model)]
            num_shared = await self._num_shared(trail.ids, own) // ID_BYTES
            trails.append(Trail(await asyncio.to_thread(unpack_ids, trail.ids), num_shared, trail.ends, trail.model))
        return trails

    async def _num_shared(self, ids: bytes, starts: Sequence[TokenList]) -> int:
        """Return the length, in bytes, of the longest prefix of `ids` that a stored conversation shares.

        A stored message is read only if everything before it matches.
        """
        longest, level = 0, [(0, each) for each in starts]
        while level:
            common, whole = await asyncio.to_thread(_match, ids, level)
            longest = max(longest, common)
            level = [(end, after) for end, before in whole for after in await self._index.followers(before)]
        return longest


async def _make(engine: Backend, owed: Sequence[OwedErasure]) -> bool:
    return not owed or await engine.erase([key for row in owed for key in row.keys], again=True)


async def _logged(work: Callable[[], Awaitable[None]]) -> None:
    try:
        await work()
    except Exception:
        logger.exception("the KV of a deleted conversation could not be erased; the next process erases it")


async def _repeated(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat an attempt until the database answers, and return its result."""
    waits = _waits()
    while True:
        try:
            return await attempt()
        except (OutageError, ReadTimeoutError) as error:
            logger.warning("the KV of a deleted conversation is erased later: %s", error)
        await asyncio.sleep(next(waits))


def _waits() -> Iterator[float]:
    """Yield the seconds between the attempts of an erasure, without an end."""
    wait = FIRST_WAIT
    while True:
        yield wait
        wait = min(2 * wait, LONGEST_WAIT)


def _unshared(nodes: Sequence[TokenNode]) -> list[Trail]:
    """Return the trails of messages as if no other conversation shared any."""
    return [Trail(unpack_ids(each.ids), 0, each.ends, each.model) for each in trails_of(nodes)]


def _match(ids: bytes, level: Sequence[tuple[int, TokenList]]) -> tuple[int, list[tuple[int, TokenList]]]:
    """Compare `ids` with the ids of stored messages, each given with its start.

    Returns the end of the longest match, and the end of each message that matches completely. All positions are in
    bytes.
    """
    longest, whole = 0, list[tuple[int, TokenList]]()
    for start, own in level:
        common = num_common(ids[start : start + len(own.ids)], own.ids) * ID_BYTES
        longest = max(longest, start + common)
        if common == len(own.ids):
            whole.append((start + common, own))
    return longest, whole
