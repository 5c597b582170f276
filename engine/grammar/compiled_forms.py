"""Cache of compiled forms. Each form is compiled once, on its own thread, and awaited for a limited time.

A thread inside the library cannot be stopped. A compilation that exceeds its time is refused, but keeps its place until
it ends, if ever. The remaining places serve all other forms, with tenants taking turns. Only the time that its thread
computes counts against a form: on a busy machine the client tries again, and the compilation continues.

A form stays in the cache while an answer has it, so that a new scheduler can continue the answer without compiling.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from engine.api.errors import InvalidRequestError, OverloadedError
from engine.api.outputs import FormVerdict
from engine.api.structured_output import StructuredOutput
from engine.process.fair_places import FairPlaces

if TYPE_CHECKING:
    from engine.grammar.automaton import Automaton, Position

COMPILE_SECONDS = 2.0
"""Time limit for a compilation. Forms within the limits take far less, unless the machine is busy.

A form is at fault if its thread has computed for half of this time or longer.
"""

MAX_COMPILING: Final = 4
"""Maximum number of compilations at once, including those that have exceeded their time."""

MAX_PER_TENANT: Final = 2
"""Maximum number of these places for one tenant, so that its forms never take the last one."""

MAX_KEPT: Final = 128
"""Maximum number of forms that are kept although no answer has them."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class CompiledForm:
    """A compiled form. Answers copy `automaton`, whose position is `start`.

    check: checks a complete answer against what masks do not enforce; None if they enforce all of the form.
    """

    automaton: "Automaton"
    start: "Position"
    check: Callable[[str], FormVerdict | None] | None = None


_Owned = tuple[str, StructuredOutput]
"""A tenant and its form. Tenants share none: the time to the first token would tell one that another uses a form."""


class _Compilation:
    """A compilation on its own thread."""

    def __init__(self) -> None:
        self.result: asyncio.Future[CompiledForm] = asyncio.get_running_loop().create_future()
        self._clock: int | None = None

    def begin(self) -> None:
        """Note that the calling thread compiles."""
        if hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())

    @property
    def is_starved(self) -> bool:
        """Whether the thread has computed for less than half of COMPILE_SECONDS; False where nothing measures that."""
        if self._clock is None:
            return hasattr(time, "pthread_getcpuclockid")
        try:
            return time.clock_gettime(self._clock) < COMPILE_SECONDS / 2
        except OSError:
            # The thread has just ended.
            return True


class CompiledForms:
    """Owner of the compiled forms and of the threads that compile. All calls come from one thread."""

    def __init__(self, compile_form: Callable[[StructuredOutput], CompiledForm]) -> None:
        """Create the cache. `compile_form` may raise InvalidRequestError, and is called on any thread."""
        self._compile_form = compile_form
        self._kept: OrderedDict[_Owned, CompiledForm] = OrderedDict()
        # Forms in `_kept`, and forms that an answer has.
        self._known: WeakValueDictionary[_Owned, CompiledForm] = WeakValueDictionary()
        self._under_way: dict[_Owned, _Compilation] = {}
        self._places = FairPlaces(MAX_COMPILING, most_of_one=MAX_PER_TENANT)

    def has(self, form: StructuredOutput, tenant: str) -> bool:
        """Return True if `get` returns the form without compiling it."""
        return (tenant, form) in self._known

    async def prepare(self, form: StructuredOutput, tenant: str) -> None:
        """Compile a form on another thread. All calls must come from the same event loop.

        Raise InvalidRequestError, also if compilation takes too long, and OverloadedError if no place for the tenant
        became free, or if the machine was too busy.
        """
        if (tenant, form) in self._known:
            return
        compiling = self._under_way.get((tenant, form))
        if compiling is None:
            await self._place(tenant)
            # The same form may have been started or compiled by another call during the wait.
            if (tenant, form) in self._known or (tenant, form) in self._under_way:
                self._places.free(tenant)
                return await self.prepare(form, tenant)
            compiling = self._begin(form, tenant)
        try:
            # Shielded, because other requests may wait for the same form, and a later request can use it.
            await asyncio.wait_for(asyncio.shield(compiling.result), COMPILE_SECONDS)
        except TimeoutError:
            if compiling.is_starved:
                raise OverloadedError(
                    "The machine is too busy to compile the form. Retry in 2 s.", retry_after=2
                ) from None
            raise InvalidRequestError("the form took too long to compile. Simplify it.", param="form") from None

    def get(self, form: StructuredOutput, tenant: str) -> CompiledForm:
        """Return a compiled form of a tenant, compiling it here if necessary. Raise InvalidRequestError."""
        compiled = self._known.get((tenant, form)) or self._compile_form(form)
        self._keep(form, tenant, compiled)
        return compiled

    async def _place(self, tenant: str) -> None:
        try:
            async with asyncio.timeout(COMPILE_SECONDS):
                await self._places.take(tenant)
        except TimeoutError:
            raise OverloadedError("Too many forms are being compiled. Retry in 2 s.", retry_after=2) from None

    def _begin(self, form: StructuredOutput, tenant: str) -> _Compilation:
        loop = asyncio.get_running_loop()
        compilation = self._under_way[tenant, form] = _Compilation()

        def settle(compiled: CompiledForm | Exception) -> None:
            del self._under_way[tenant, form]
            self._places.free(tenant)
            if isinstance(compiled, Exception):
                compilation.result.set_exception(compiled)
                # Mark the exception as retrieved, since every waiting request may have gone.
                compilation.result.exception()
            else:
                self._keep(form, tenant, compiled)
                compilation.result.set_result(compiled)

        def run() -> None:
            compilation.begin()
            try:
                compiled: CompiledForm | Exception = self._compile_form(form)
            except Exception as error:
                compiled = error
            # The loop is closed if the server has stopped by now.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, compiled)

        # A daemon thread, because the process must be able to exit before a compilation ends.
        threading.Thread(target=run, name="grammar", daemon=True).start()
        return compilation

    def _keep(self, form: StructuredOutput, tenant: str, compiled: CompiledForm) -> None:
        self._kept[tenant, form] = self._known[tenant, form] = compiled
        self._kept.move_to_end((tenant, form))
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
