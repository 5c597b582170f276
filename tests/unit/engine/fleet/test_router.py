"""Choice of a replica: least work first, where a known prefix is no work."""

import pytest

from engine.fleet import router as router_module
from engine.fleet.prediction import ANSWER_TOKENS
from engine.fleet.router import Router, Seat

BLOCK = 4


def prompt(salt: int, blocks: int) -> list[int]:
    return [salt * 1000 + at for at in range(blocks * BLOCK)]


async def admit(router: Router, seat: Seat, token_ids: list[int], answers: int = 1) -> list[router_module.Ticket]:
    return router.admit(seat, await router.keys_of(token_ids, "local"), len(token_ids), answers)


async def choose(router: Router, seats: list[Seat], token_ids: list[int], tenant: str = "local") -> int:
    chosen = router.choose(seats, await router.keys_of(token_ids, tenant), len(token_ids))
    return next(index for index, seat in enumerate(seats) if seat is chosen)


async def test_prompt_goes_where_its_prefix_is() -> None:
    router, seats = Router(BLOCK), [Seat(), Seat(), Seat()]
    for ticket in await admit(router, seats[1], prompt(1, 8)):
        ticket.ended()
    assert await choose(router, seats, [*prompt(1, 8), 7, 8]) == 1
    assert await choose(router, seats, prompt(2, 8)) == 0
    # Another tenant's blocks are others, whatever the text.
    assert await choose(router, seats, prompt(1, 8), tenant="bob") == 0


async def test_prefix_counts_as_much_as_it_saves() -> None:
    router, seats = Router(BLOCK), [Seat(), Seat()]
    for ticket in await admit(router, seats[1], prompt(1, 8)):
        ticket.ended()
    saved = 8 * BLOCK
    await admit(router, seats[1], prompt(3, 1))
    assert saved < ANSWER_TOKENS + BLOCK
    assert await choose(router, seats, prompt(1, 8)) == 0
    assert await choose(router, seats, prompt(1, 80)) == 0
    for ticket in await admit(router, seats[1], prompt(1, 80)):
        ticket.ended()
    assert await choose(router, seats, prompt(1, 80)) == 1


async def test_waiting_prompts_and_running_answers_are_work() -> None:
    router, seats = Router(BLOCK), [Seat(), Seat()]
    [first, second] = await admit(router, seats[0], prompt(1, 100), answers=2)
    assert (seats[0].load.waiting_tokens, seats[0].load.answers) == (100 * BLOCK, 2)
    await admit(router, seats[1], prompt(2, 50))
    assert await choose(router, seats, prompt(3, 1)) == 1
    first.started()
    assert seats[0].load.waiting_tokens == 0
    assert await choose(router, seats, prompt(3, 1)) == 0
    first.ended()
    second.ended()
    assert (seats[0].load.waiting_tokens, seats[0].load.answers) == (0, 0)


async def test_memory_of_prefixes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router_module, "MAX_KEYS", 10)
    router, seat = Router(BLOCK), Seat()
    for salt in (1, 2):
        await admit(router, seat, prompt(salt, 8))
    assert len(seat.known) == 10
    # The end of the older chain went first, so that its beginning is of use.
    assert seat.num_known(await router.keys_of(prompt(1, 8), "local")) == 2
    assert seat.num_known(await router.keys_of(prompt(2, 8), "local")) == 8
