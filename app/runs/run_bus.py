"""The interface to the runs of other servers on the same database."""

import asyncio
from collections.abc import AsyncGenerator, Set
from contextlib import asynccontextmanager
from typing import Final, Protocol

from app.runs.run import Run
from app.storage.servers import LEASE_SECONDS
from engine.errors import NotReadyError

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
    """Bound the wait for the end of a cancelled run in the context. Raises CancelPendingError."""
    try:
        async with asyncio.timeout(CANCEL_SECONDS):
            yield
    except TimeoutError:
        raise CancelPendingError from None


class RunBus(Protocol):
    """Runs that other servers work on."""

    async def tail(self, run_id: str, tenant: str) -> Run | None:
        """Return a copy of a tenant's run, whose log grows as the other server stores its output.

        The copy ends with the run. The log is interrupted if yet another server takes the run over. Returns None if
        no other server works on the run.
        """

    async def settled(self) -> None:
        """Wait while this server takes over the runs of another one that has just stopped."""

    async def cancel(self, run_id: str, tenant: str) -> None:
        """Have the server that works on a tenant's run end it, and wait until it has ended.

        Raises CancelPendingError if that takes long.
        """

    async def cancel_in(self, conversation_ids: Set[str], tenant: str) -> None:
        """Have other servers end the runs in a tenant's conversations, without waiting for their end."""

    async def cancel_all_of(self, tenant: str) -> None:
        """Have other servers end all runs of a tenant, without waiting for their end."""

    async def answering(self, tenant: str) -> set[str]:
        """Return the ids of a tenant's conversations in which any server generates an answer."""


class Alone:
    """The bus of a server that has its database for itself."""

    async def tail(self, run_id: str, tenant: str) -> Run | None:  # noqa: ARG002
        """Return None: every run is here."""
        return None

    async def settled(self) -> None:
        """Do nothing: there is no other server."""

    async def cancel(self, run_id: str, tenant: str) -> None:
        """Do nothing: every run is here."""

    async def cancel_in(self, conversation_ids: Set[str], tenant: str) -> None:
        """Do nothing: every run is here."""

    async def cancel_all_of(self, tenant: str) -> None:
        """Do nothing: every run is here."""

    async def answering(self, tenant: str) -> set[str]:  # noqa: ARG002
        """Return nothing: every run is here."""
        return set()
