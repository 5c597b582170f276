"""Forms to what answers begin with: each compiled once, in a thread of its own, and waited for no longer than is fair.

A thread in which the library computes cannot be ended. A compile that passes its time is refused, and keeps its place
until it ends, if ever; the places that are left serve all other forms, in turns of their tenants.
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
from engine.grammar.form import AnswerForm

if TYPE_CHECKING:
    from engine.grammar.automaton import Automaton, Position

COMPILE_SECONDS = 2.0
"""What no form within the limits comes near, unless the machine has other things to do."""

MAX_COMPILING: Final = 4
"""At once, those that have passed their time with them."""

MAX_OF_A_TENANT: Final = 2
"""Of these places, so that the forms of one tenant never take the last one."""

MAX_KEPT: Final = 128


@dataclass(frozen=True, slots=True)
class CompiledForm:
    """`start` is where `automaton` is, of which answers take copies."""

    automaton: "Automaton"
    start: "Position"


class CompiledForms:
    """Owner of the compiled forms and of the threads that compile. All calls come from one thread."""

    def __init__(self, compile_form: Callable[[AnswerForm], CompiledForm]) -> None:
        """compile_form: raises InvalidRequestError; is called from any thread."""
        self._compile_form = compile_form
        self._kept: OrderedDict[AnswerForm, CompiledForm] = OrderedDict()
        self._under_way: dict[AnswerForm, asyncio.Future[CompiledForm]] = {}
        self._places = FairPlaces(MAX_COMPILING, most_of_one=MAX_OF_A_TENANT)

    def __contains__(self, form: AnswerForm) -> bool:
        """Whether `get` has it at once."""
        return form in self._kept

    async def prepare(self, form: AnswerForm, tenant: str) -> None:
        """Compile it in another thread; the loop is the same in all calls.

        Raises InvalidRequestError, also for a form that takes too long; OverloadedError if no place for the tenant
        became free.
        """
        if form in self._kept:
            return
        compiling = self._under_way.get(form)
        if compiling is None:
            await self._place(tenant)
            # The same form may have been begun or compiled while this one waited.
            if form in self._kept or form in self._under_way:
                self._places.free(tenant)
                return await self.prepare(form, tenant)
            compiling = self._begin(form, tenant)
        try:
            # Others may wait for the same form, and who asks again has it if it came after all.
            await asyncio.wait_for(asyncio.shield(compiling), COMPILE_SECONDS)
        except TimeoutError:
            raise InvalidRequestError("it takes too long to compile", param="form") from None

    def get(self, form: AnswerForm) -> CompiledForm:
        """Compile it here if that was not done. Raises InvalidRequestError."""
        if form not in self._kept:
            self._keep(form, self._compile_form(form))
        self._kept.move_to_end(form)
        return self._kept[form]

    async def _place(self, tenant: str) -> None:
        try:
            async with asyncio.timeout(COMPILE_SECONDS):
                await self._places.take(tenant)
        except TimeoutError:
            raise OverloadedError(
                "Too many forms of answers are being compiled: try again in 2 s", retry_after=2
            ) from None

    def _begin(self, form: AnswerForm, tenant: str) -> asyncio.Future[CompiledForm]:
        loop = asyncio.get_running_loop()
        compiling: asyncio.Future[CompiledForm] = loop.create_future()
        self._under_way[form] = compiling

        def settle(compiled: CompiledForm | Exception) -> None:
            del self._under_way[form]
            self._places.free(tenant)
            if isinstance(compiled, Exception):
                compiling.set_exception(compiled)
                # Nobody may be left to whom it matters.
                compiling.exception()
            else:
                self._keep(form, compiled)
                compiling.set_result(compiled)

        def run() -> None:
            try:
                compiled: CompiledForm | Exception = self._compile_form(form)
            except Exception as error:
                compiled = error
            # The loop is closed if the server stopped meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(settle, compiled)

        # A daemon: the process must be able to end before a compile does.
        threading.Thread(target=run, name="grammar", daemon=True).start()
        return compiling

    def _keep(self, form: AnswerForm, compiled: CompiledForm) -> None:
        self._kept[form] = compiled
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
