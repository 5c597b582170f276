"""Compiles that never end cost only their own requests. The tests control the compiler."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

import pytest

from engine.api.errors import InvalidRequestError, OverloadedError
from engine.api.structured_output import StructuredOutput
from engine.grammar import compiled_forms
from engine.grammar.automaton import Automaton, Position
from engine.grammar.compiled_forms import MAX_COMPILING, MAX_KEPT, MAX_PER_TENANT, CompiledForm, CompiledForms

SHORT, LONG = 0.01, 300.0


class Compiler:
    """A compiler in which forms that begin with "slow" or "starved" wait for `release`.

    The slow ones compute before.
    """

    def __init__(self) -> None:
        self.release = threading.Event()
        self.began: Counter[str] = Counter()

    def __call__(self, form: StructuredOutput) -> CompiledForm:
        self.began[form.text] += 1
        while form.text.startswith("slow") and time.thread_time() < SHORT:
            pass
        if form.text.startswith(("slow", "starved")):
            self.release.wait()
        if form.text.endswith("bad"):
            raise InvalidRequestError("bad", param="form")
        return CompiledForm(cast(Automaton, object()), Position(b""))


@pytest.fixture
def compiler() -> Iterator[Compiler]:
    made = Compiler()
    yield made
    made.release.set()


def form(text: str) -> StructuredOutput:
    return StructuredOutput("regex", text)


@pytest.fixture
def forms(compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> CompiledForms:
    monkeypatch.setattr(compiled_forms, "COMPILE_SECONDS", LONG)
    return CompiledForms(compiler)


async def prepare_patiently(forms: CompiledForms, wanted: StructuredOutput, tenant: str) -> None:
    """Try until the machine was not too busy."""
    while not forms.has(wanted, tenant):
        with suppress(OverloadedError):
            await forms.prepare(wanted, tenant)


async def stick(forms: CompiledForms, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Make `count` forms exceed the compile timeout."""
    with monkeypatch.context() as patch:
        patch.setattr(compiled_forms, "COMPILE_SECONDS", SHORT)
        for index in range(count):
            with pytest.raises(InvalidRequestError, match="too long") as caught:
                await prepare_patiently(forms, form(f"slow {index}"), f"tenant {index}")
            assert caught.value.param == "form"


async def test_slow_form_delays_no_other_form(
    forms: CompiledForms, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stick(forms, monkeypatch, MAX_COMPILING - 1)
    await asyncio.gather(*(forms.prepare(form(f"quick {index}"), "local") for index in range(8)))
    assert all(forms.has(form(f"quick {index}"), "local") for index in range(8))
    with pytest.raises(InvalidRequestError, match="bad"):
        await forms.prepare(form("quick and bad"), "local")


async def test_full_compile_places_reject_with_retry_after(
    forms: CompiledForms, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stick(forms, monkeypatch, MAX_COMPILING)
    with monkeypatch.context() as patch:
        patch.setattr(compiled_forms, "COMPILE_SECONDS", SHORT)
        with pytest.raises(OverloadedError) as caught:
            await forms.prepare(form("quick"), "local")
    assert caught.value.retry_after > 0
    waiting = asyncio.create_task(forms.prepare(form("quick"), "local"))
    await asyncio.sleep(0)
    compiler.release.set()
    await waiting
    assert forms.has(form("quick"), "local")


async def test_one_tenant_never_takes_every_compile_place(
    forms: CompiledForms, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood = [asyncio.create_task(forms.prepare(form(f"slow {index}"), "hostile")) for index in range(8)]
    await asyncio.sleep(0)
    assert compiler.began.total() == MAX_PER_TENANT
    await forms.prepare(form("quick"), "other")
    assert forms.has(form("quick"), "other")
    compiler.release.set()
    await asyncio.gather(*flood)
    assert compiler.began.total() == 9


async def test_repeated_request_for_slow_form_takes_no_further_place(
    forms: CompiledForms, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(MAX_COMPILING + 1):
        await stick(forms, monkeypatch, 1)
    assert compiler.began == {"slow 0": 1}
    again = asyncio.create_task(forms.prepare(form("slow 0"), "tenant 0"))
    await asyncio.sleep(0)
    compiler.release.set()
    await again
    assert forms.has(form("slow 0"), "tenant 0")
    assert compiler.began == {"slow 0": 1}


async def test_cancelled_request_leaves_form_to_others(forms: CompiledForms, compiler: Compiler) -> None:
    one, other = (asyncio.create_task(forms.prepare(form("slow"), "local")) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    compiler.release.set()
    await other
    assert one.cancelled()
    assert compiler.began == {"slow": 1}


async def test_form_of_one_tenant_is_compiled_for_another(forms: CompiledForms, compiler: Compiler) -> None:
    await forms.prepare(form("quick"), "one")
    assert not forms.has(form("quick"), "other")
    await forms.prepare(form("quick"), "other")
    await forms.prepare(form("quick"), "one")
    assert compiler.began == {"quick": 2}


async def test_form_that_a_busy_machine_did_not_compile_may_be_retried(
    forms: CompiledForms, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(compiled_forms, "COMPILE_SECONDS", SHORT)
        with pytest.raises(OverloadedError) as caught:
            await forms.prepare(form("starved"), "local")
    assert caught.value.retry_after > 0
    compiler.release.set()
    await forms.prepare(form("starved"), "local")
    assert forms.has(form("starved"), "local")


async def test_form_of_an_answer_is_compiled_once(forms: CompiledForms, compiler: Compiler) -> None:
    await forms.prepare(form("long answer"), "local")
    used = forms.get(form("long answer"), "local")
    for index in range(MAX_KEPT):
        await forms.prepare(form(f"other {index}"), "local")
    assert forms.has(form("long answer"), "local")
    assert forms.get(form("long answer"), "local") is used
    assert compiler.began["long answer"] == 1
    del used
    for index in range(MAX_KEPT + 1):
        await forms.prepare(form(f"later {index}"), "local")
    assert not forms.has(form("long answer"), "local")
