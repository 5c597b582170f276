"""Changes of each tenant's conversations, announced to the pages that follow them.

An announcement names a conversation, and says whether an answer in it has ended. A follower keeps the names that it has
not sent yet, each once and at most MAX_PENDING of them, so a slow reader costs a bounded amount of memory. Beyond the
bound it is asked to read everything again.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from app.runs.outbox import Outbox
from app.storage.connection import MISSED, NOTICE_CHARACTERS, DatabaseConnection
from app.storage.database import Database
from app.storage.notices import NoticeHandlers
from engine.api.errors import OverloadedError

MAX_PENDING: Final = 64
MAX_FOLLOWERS: Final = 32
"""Maximum number of pages that follow one tenant."""
RETRY_SECONDS: Final = 30


class Follower:
    """Changes that one page has not been sent yet.

    is_behind: whether more changed than a follower keeps, so that the page has to read everything again.
    is_over: whether the server is stopping.
    """

    def __init__(self) -> None:
        self._pending: dict[str, bool] = {}
        self._news = asyncio.Event()
        self.is_behind = False
        self.is_over = False

    def add(self, conversation_id: str | None, answered: bool) -> None:
        """Note a change of a conversation, or of an unknown number of them (None)."""
        if conversation_id is None or len(self._pending) >= MAX_PENDING:
            self.is_behind = True
            self._pending.clear()
        elif not self.is_behind:
            self._pending[conversation_id] = answered or self._pending.get(conversation_id, False)
        self._news.set()

    def end(self) -> None:
        """Wake the follower for the last time."""
        self.is_over = True
        self._news.set()

    async def wait(self) -> bool:
        """Wait for news. Returns False once there will be no more, since the server is stopping."""
        await self._news.wait()
        return not self.is_over

    def take(self) -> dict[str, bool] | None:
        """Return the conversations that changed, and forget them; None if everything is to be read again.

        The values tell whether an answer has ended since the conversation was last taken.
        """
        self._news.clear()
        was_behind, changed = self.is_behind, self._pending
        self.is_behind = False
        self._pending = {}
        return None if was_behind else changed


class Changes:
    """Owner of the followers of all tenants.

    share: called with each change that this server announces, for the followers at other servers.
    """

    def __init__(self) -> None:
        self.share: Callable[[str, str | None, bool], None] = lambda _tenant, _conversation_id, _answered: None
        self._followers: defaultdict[str, set[Follower]] = defaultdict(set)
        self._stopped = False

    def announce(self, tenant: str, conversation_id: str | None = None, answered: bool = False) -> None:
        """Announce a change of a tenant's conversation; None: of several.

        answered: whether an answer in the conversation has ended.
        """
        self.hear(tenant, conversation_id, answered)
        self.share(tenant, conversation_id, answered)

    def hear(self, tenant: str, conversation_id: str | None, answered: bool) -> None:
        """Pass on a change that another server has announced."""
        for follower in self._followers.get(tenant, ()):
            follower.add(conversation_id, answered)

    def miss(self) -> None:
        """Have all followers read everything again, since changes at other servers may have been missed."""
        for tenant in self._followers:
            self.hear(tenant, None, False)

    def check_room(self, tenant: str) -> None:
        """Check that one more page may follow a tenant. Raise OverloadedError."""
        if len(self._followers.get(tenant, ())) >= MAX_FOLLOWERS:
            raise OverloadedError(
                f"{MAX_FOLLOWERS} pages follow the changes of this tenant already. Close one of them.",
                retry_after=RETRY_SECONDS,
                code="too_many_followers",
            )

    @contextmanager
    def followed(self, tenant: str) -> Iterator[Follower]:
        """Follow a tenant for the duration of the context."""
        follower = Follower()
        if self._stopped:
            follower.end()
        self._followers[tenant].add(follower)
        try:
            yield follower
        finally:
            self._followers[tenant].discard(follower)
            if not self._followers[tenant]:
                del self._followers[tenant]

    def stop(self) -> None:
        """End all followers for good."""
        self._stopped = True
        for followers in self._followers.values():
            for follower in followers:
                follower.end()


CHATS: Final = "chats"
"""Topic of notices with a server and a JSON array of changes: tenant, conversation or null, and whether it answered."""

MAX_WAITING: Final = 1000
"""Changes that wait to be sent. Beyond it the pages of the tenants read everything again."""
_CHANGES_OF_A_NOTICE: Final = NOTICE_CHARACTERS // 150


class SharedChanges:
    """Owner of the changes that other servers do not know yet."""

    def __init__(self, database: Database, changes: Changes, is_alone: Callable[[], bool]) -> None:
        """Prepare to send.

        is_alone: whether no other server uses the database, so that nothing is sent.
        """
        self._database = database
        self._changes = changes
        self._is_alone = is_alone
        self._outbox = Outbox[tuple[str, str | None], bool](database, self._notify, "changes")
        changes.share = self.add

    def add(self, tenant: str, conversation_id: str | None, answered: bool) -> None:
        """Send a change to the other servers, if there are any."""
        if self._is_alone():
            return
        waiting = self._outbox.waiting
        change = (tenant, conversation_id if len(waiting) < MAX_WAITING else None)
        waiting[change] = answered or waiting.get(change, False)
        self._outbox.send()

    @property
    def notice_handlers(self) -> NoticeHandlers:
        """Handlers of the notices of other servers."""
        return {CHATS: self._on_chats, MISSED: lambda _text: self._changes.miss()}

    def _on_chats(self, text: str) -> None:
        server, changes = json.loads(text)
        if server != self._database.server:
            for tenant, conversation_id, answered in changes:
                self._changes.hear(tenant, conversation_id, answered)

    async def stop(self) -> None:
        """Stop sending."""
        await self._outbox.stop()

    def _notify(self, waiting: Mapping[tuple[str, str | None], bool], connection: DatabaseConnection) -> None:
        changes = [(*change, answered) for change, answered in waiting.items()]
        for begin in range(0, len(changes), _CHANGES_OF_A_NOTICE):
            part = changes[begin : begin + _CHANGES_OF_A_NOTICE]
            connection.notify(CHATS, json.dumps([self._database.server, part]))
