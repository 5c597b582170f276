"""When the KV of a request reaches the tier below CPU memory."""

from cache_tiers.moves.stores import IDLE_SECONDS
from tests.model.toy_store import ToyStore
from tests.unit.scheduling_rig import BLOCK, Rig

CALL = [(at * at) % 49 for at in range(4 * BLOCK)]
"""Prompt of four full blocks, of which the last one is not looked up."""


def rig() -> Rig:
    return Rig(pool_blocks=64, max_tokens_per_step=64, store=ToyStore(capacity=64))


def copied(rig: Rig) -> tuple[int, int]:
    """Let the copies end. Return the number of blocks in CPU memory, and in Redis."""
    assert rig.store is not None
    for _ in range(40):
        if (output := rig.scheduler.schedule()) is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
    rig.scheduler.connector.poll()
    return len(rig.store.ready), len(rig.store.redis)


def asked(rig: Rig, prompt: list[int], *, is_stored: bool = True) -> None:
    rig.add(prompt, max_tokens=1, is_stored=is_stored)
    rig.run()


def test_stored_conversation_is_written_at_once() -> None:
    made = rig()
    asked(made, CALL)
    assert copied(made) == (4, 4)


def test_single_call_is_written_once_the_machine_is_idle() -> None:
    made = rig()
    asked(made, CALL, is_stored=False)
    assert copied(made) == (4, 0)
    made.now += IDLE_SECONDS - 0.1
    assert copied(made) == (4, 0)
    wait = made.scheduler.connector.next_poll_seconds()
    assert wait is not None
    assert 0 < wait <= 0.2
    made.now += 0.2
    assert copied(made) == (4, 4)
    assert made.scheduler.connector.next_poll_seconds() is None


def test_use_of_a_call_by_another_one_writes_what_was_found() -> None:
    made = rig()
    asked(made, CALL, is_stored=False)
    asked(made, [*CALL[: 2 * BLOCK], *[5] * (2 * BLOCK)], is_stored=False)
    assert copied(made) == (6, 2)


def test_stateless_chat_is_written_from_its_second_turn_on() -> None:
    made = rig()
    asked(made, CALL, is_stored=False)
    asked(made, [*CALL, *[7] * (2 * BLOCK)], is_stored=False)
    assert copied(made) == (6, 6)


def test_other_answers_to_a_prompt_are_no_use_of_it() -> None:
    made = rig()
    first = made.add(CALL, max_tokens=1, is_stored=False)
    fork = first.fork("fork", 1, None)
    made.scheduler.add_request(fork)
    made.run()
    assert copied(made)[1] == 0


def test_marked_blocks_are_written_at_once() -> None:
    made = rig()
    request = made.add(CALL, max_tokens=1, is_stored=False)
    request.num_marked = 3 * BLOCK
    made.run()
    assert copied(made) == (4, 3)
