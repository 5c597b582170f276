"""The rendered pages of links to chats, and the numbers of their views."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from app.domain.records import Message
from app.domain.share import ShareLink
from app.tenants.tenant_threads import TenantThreads
from app.tenants.token_bucket import TokenBucket

if TYPE_CHECKING:
    from app.conversations.shared_page_texts import SharedPageTexts

MAX_KEPT_BYTES: Final = 16 << 20
"""Bytes of all pages that are kept. The page that was read longest ago is dropped first."""

MAX_COUNTED: Final = 4096
"""Links whose views are counted. The link that was viewed longest ago is forgotten first."""

_Key = tuple[str, str | None, str]
"""Id of the link, title of the chat and language of the page."""


class SharedPages:
    """Owner of the rendered pages. All calls come from one event loop.

    A link shows the same messages for its whole life, so each page is rendered once, and all of its readers share the
    bytes. The work takes the thread of the tenant that made the link.
    """

    def __init__(self, threads: TenantThreads, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = threads
        self._clock = clock
        self._kept: OrderedDict[_Key, bytes] = OrderedDict()
        self._num_bytes = 0
        self._under_way: dict[_Key, asyncio.Task[bytes]] = {}
        self._views: OrderedDict[str, TokenBucket] = OrderedDict()

    def seconds_until_view(self, share: ShareLink, per_minute: int) -> float:
        """Count a view of a link and return 0, or return the seconds until there is room for one."""
        views = self._views.setdefault(share.id, TokenBucket(self._clock))
        self._views.move_to_end(share.id)
        while len(self._views) > MAX_COUNTED:
            self._views.popitem(last=False)
        wait = views.seconds_until(1, per_minute)
        if not wait:
            views.add(1, per_minute)
        return wait

    async def page(
        self, share: ShareLink, messages: Callable[[], Awaitable[Sequence[Message]]], texts: "SharedPageTexts"
    ) -> bytes:
        """Return the page of a link in UTF-8. Raise OverloadedError if too much work of the link's tenant waits.

        messages: reads the messages of the link, if the page has to be rendered.
        """
        key = (share.id, share.title, texts.lang)
        if (page := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return page
        rendering = self._under_way.get(key)
        if rendering is None:
            rendering = asyncio.create_task(self._render(key, share, messages, texts), name="shared-page")
            self._under_way[key] = rendering
            rendering.add_done_callback(lambda _: self._under_way.pop(key))
        # Shielded, because other readers may wait for the same page.
        return await asyncio.shield(rendering)

    async def _render(
        self, key: _Key, share: ShareLink, read: Callable[[], Awaitable[Sequence[Message]]], texts: "SharedPageTexts"
    ) -> bytes:
        # The renderer of Markdown is loaded for the first view, and not at the start.
        from app.conversations.shared_page import shared_page

        messages = await read()
        page = await self._threads.run(share.tenant, lambda: shared_page(share, messages, texts).encode())
        if all(message.status != "in_progress" for message in messages):
            self._keep(key, page)
        return page

    def _keep(self, key: _Key, page: bytes) -> None:
        self._kept[key] = page
        self._num_bytes += len(page)
        while self._num_bytes > MAX_KEPT_BYTES:
            _, dropped = self._kept.popitem(last=False)
            self._num_bytes -= len(dropped)
