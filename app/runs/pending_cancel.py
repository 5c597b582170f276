"""The wait for the end of an answer that a client cancels."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from app.storage.servers import LEASE_SECONDS
from engine.api.errors import NotReadyError

CANCEL_SECONDS: Final = 3 * LEASE_SECONDS
"""Longest time for which a cancel waits. After less time, another server has the run of one that died."""


class CancelPendingError(NotReadyError):
    """503: an answer that a client cancels has not ended. The wish stays with the run."""

    code = "cancel_pending"

    def __init__(self) -> None:
        super().__init__(
            "The server that generates this answer does not respond, or stops or starts. The answer is cancelled as "
            "soon as a server continues it. Try again in a few seconds"
        )


@asynccontextmanager
async def time_to_cancel() -> AsyncGenerator[None, None]:
    """Bound the wait for the end of a cancelled run in the context. Raise CancelPendingError."""
    try:
        async with asyncio.timeout(CANCEL_SECONDS):
            yield
    except TimeoutError:
        raise CancelPendingError from None
