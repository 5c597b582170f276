"""Changes of each tenant's conversations, announced to the pages that follow them.

An announcement names a conversation, and says whether an answer in it has ended. A follower keeps the names that it has
not sent yet, each once and at most MAX_PENDING of them, so a slow reader costs a bounded amount of memory. Beyond the
bound it is asked to read everything again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

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
