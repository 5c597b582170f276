"""The parts of uvicorn that it does not promise to keep, under names of our own.

`tests/contract/test_private_parts.py` names each of them, and what else `app.transport` overrides or reads of uvicorn's
protocol. The test fails if another version lacks one.
"""

from abc import ABC, abstractmethod

from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    HTTPScope,
    Scope,
)
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

__all__ = [
    "ASGI3Application",
    "ASGIReceiveCallable",
    "ASGISendCallable",
    "ASGISendEvent",
    "HTTPScope",
    "RequestResponseCycle",
    "Scope",
    "UvicornProtocol",
]


class UvicornProtocol(HttpToolsProtocol, ABC):
    """uvicorn's protocol for one connection."""

    @abstractmethod
    def on_turn(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Begin to answer a request, whose turn it is now, with `begin_answer`."""

    def begin_answer(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Start the task of an answer."""
        super()._start_asgi_task(cycle, app)

    def stop_waiting_for_request(self) -> None:
        """Cancel the end of an idle connection, since bytes have arrived."""
        self._unset_keepalive_if_required()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.on_turn(cycle, app)
