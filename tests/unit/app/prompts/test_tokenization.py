"""Texts whose size a client chooses are tokenized off the loop, one at a time, and no further than they can serve."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from app.host.backend import Backend
from app.prompts.tokenization import LONG_TEXT, to_ids
from app.tenants.gate import TenantGate, TenantGates
from app.tenants.limits import NO_LIMITS, LimitReachedError, TenantLimits
from engine.api.errors import InvalidRequestError
from engine.testing.replay_engine import ReplayEngine
from models.errors import TextTooLongError


@pytest.fixture
def engine() -> Backend:
    return ReplayEngine()


def gates_of(limits: TenantLimits = NO_LIMITS) -> Callable[[str], TenantGate]:
    return TenantGates(lambda _: limits, time.monotonic).of


async def test_a_text_beyond_the_longest_is_not_tokenised(engine: Backend) -> None:
    def encode() -> list[int]:
        raise AssertionError("the text was tokenized")

    with pytest.raises(InvalidRequestError, match="maximum context length") as caught:
        await to_ids(gates_of()("a"), engine, encode, engine.tokenizer.longest_text + 1, param="messages")
    assert (caught.value.param, caught.value.code) == ("messages", "context_length_exceeded")


async def test_a_text_of_too_many_tokens_names_the_field(engine: Backend) -> None:
    def encode() -> list[int]:
        raise TextTooLongError("it has more than 7 tokens")

    for size in (1, LONG_TEXT):
        with pytest.raises(InvalidRequestError, match="more than 7 tokens") as caught:
            await to_ids(gates_of()("a"), engine, encode, size, param="prompt")
        assert (caught.value.param, caught.value.code) == ("prompt", "context_length_exceeded")


async def test_long_texts_are_tokenised_one_at_a_time_by_turns(engine: Backend) -> None:
    gate_of, order = gates_of(), list[str]()
    at_once, lock, first_may_end = 0, threading.Lock(), threading.Event()

    def encode(tenant: str) -> list[int]:
        nonlocal at_once
        assert threading.current_thread() is not threading.main_thread()
        with lock:
            at_once += 1
            assert at_once == 1
        order.append(tenant)
        first_may_end.wait()
        with lock:
            at_once -= 1
        return []

    tasks = [
        asyncio.create_task(to_ids(gate_of(tenant), engine, lambda tenant=tenant: encode(tenant), LONG_TEXT, param="p"))  # type: ignore[misc]
        for tenant in ("hostile",) * 5 + ("victim",)
    ]
    await asyncio.sleep(0)
    first_may_end.set()
    await asyncio.gather(*tasks)
    assert order.index("victim") <= 2
    assert len(order) == 6


def test_a_tenant_beyond_its_limits_is_refused_first(engine: Backend) -> None:
    gate = gates_of(TenantLimits(requests_per_minute=0))("a")
    with pytest.raises(LimitReachedError):
        gate.check(engine)
