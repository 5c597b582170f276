"""Cache of compiled forms. Each form is compiled once, on its own thread, and awaited for a limited time.

A thread inside the library cannot be stopped. A compilation that exceeds its time is refused, but keeps its place until
it ends, if ever. The remaining places serve all other forms, with tenants taking turns.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.errors import InvalidRequestError, OverloadedError
from engine.fair_places import FairPlaces
from engine.structured_output import StructuredOutput

if TYPE_CHECKING:
    from engine.grammar.automaton import Automaton, Position

COMPILE_SECONDS = 2.0
"""Time limit for a compilation. Forms within the limits take far less, unless the machine is busy."""

MAX_COMPILING: Final = 4
"""Maximum number of compilations at once, including those that have exceeded their time."""

MAX_PER_TENANT: Final = 2
"""Maximum number of these places for one tenant, so that its forms never take the last one."""

MAX_KEPT: Final = 128


@dataclass(frozen=True, slots=True)
class CompiledForm:
    """A compiled form. Answers copy `automaton`, whose position is `start`."""

    automaton: "Automaton"
    start: "Position"


_Owned = tuple[str, StructuredOutput]
"""A tenant and its form. Tenants share none: the time to the first token would tell one that another uses a form."""


class CompiledForms:
    """Owner of the compiled forms and of the threads that compile. All calls come from one thread."""

    def __init__(self, compile_form: Callable[[StructuredOutput], CompiledForm]) -> None:
        """Create the cache. `compile_form` may raise InvalidRequestError, and is called on any thread."""
        self._compile_form = compile_form
        self._kept: OrderedDict[_Owned, CompiledForm] = OrderedDict()
        self._under_way: dict[_Owned, asyncio.Future[CompiledForm]] = {}
        self._places = FairPlaces(MAX_COMPILING, most_of_one=MAX_PER_TENANT)

    def has(self, form: StructuredOutput, tenant: str) -> bool:
        """Return True if `get` returns the form without compiling it."""
        return (tenant, form) in self._kept

    async def prepare(self, form: StructuredOutput, tenant: str) -> None:
        """Compile a form on another thread. All calls must come from the same event loop.

        Raise InvalidRequestError, also if compilation takes too long, and OverloadedError if no place for the tenant
        became free.
        """
        if (tenant, form) in self._kept:
            return
        compiling = self._under_way.get((tenant, form))
        if compiling is None:
            await self._place(tenant)
            # The same form may have been started or compiled by another call during the wait.
            if (tenant, form) in self._kept or (tenant, form) in self._under_way:
                self._places.free(tenant)
                return await self.prepare(form, tenant)
            compiling = self._begin(form, tenant)
        try:
            # Shielded, because other requests may wait for the same form, and a later request can use it.
            await asyncio.wait_for(asyncio.shield(compiling), COMPILE_SECONDS)
        except TimeoutError:
            raise InvalidRequestError("the form took too long to compile. Simplify it.", param="form") from None

    def get(self, form: StructuredOutput, tenant: str) -> CompiledForm:
        """Return a compiled form of a tenant, compiling it here if necessary. Raise InvalidRequestError."""
        if (tenant, form) not in self._kept:
            self._keep(form, tenant, self._compile_form(form))
        self._kept.move_to_end((tenant, form))
        return self._kept[tenant, form]

    async def _place(self, tenant: str) -> None:
        try:
            async with asyncio.timeout(COMPILE_SECONDS):
                await self._places.take(tenant)
        except TimeoutError:
            raise OverloadedError("Too many forms are being compiled. Retry in 2 s.", retry_after=2) from None

    def _begin(self, form: StructuredOutput, tenant: str) -> asyncio.Future[CompiledForm]:
        loop = asyncio.get_running_loop()
        compiling: asyncio.Future[CompiledForm] = loop.create_future()
        self._under_way[tenant, form] = compiling

        def settle(compiled: CompiledForm | Exception) -> None:
            del self._under_way[tenant, form]
            self._places.free(tenant)
            if isinstance(compiled, Exception):
                compiling.set_exception(compiled)
                # Mark the exception as retrieved, since every waiting request may have gone.
                compiling.exception()
            else:
                self._keep(form, tenant, compiled)
                compiling.set_result(compiled)

        def run() -> None:
            try:
                compiled: CompiledForm | Exception = self._compile_form(form)
            except Exception as error:
                compiled = error
            # The loop is closed if the server has stopped by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, compiled)

        # A daemon thread, because the process must be able to exit before a compilation ends.
        threading.Thread(target=run, name="grammar", daemon=True).start()
        return compiling

    def _keep(self, form: StructuredOutput, tenant: str, compiled: CompiledForm) -> None:
        self._kept[tenant, form] = compiled
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
