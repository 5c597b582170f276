"""A Redis behind a slow network costs time at most, on the real model: what is decided changes no answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.slow_link import FAST, SlowLink
from engine.llm import LLM
from engine.sampling_params import SamplingParams
from tests.integration.engine_rig import BLOCK, answer, engine_config
from tests.redis_server import RedisServer
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

PROMPT = [1000 + (at * 7919) % 20000 for at in range(24 * BLOCK + 5)]
OTHER = [30000 + (at * 104729) % 10000 for at in range(3 * BLOCK)]


@pytest.fixture
def link(redis_server: RedisServer, tmp_path: Path) -> Iterator[SlowLink]:
    """Leads to the server from `tmp_path / "link"`."""
    with SlowLink(tmp_path / "link", redis_server.socket) as link:
        yield link


def open_llm(model_path: Path, tmp_path: Path, state: str) -> LLM:
    return LLM(engine_config(model_path, tmp_path / state, blocks=100, redis_url=f"unix://{tmp_path / 'link'}"))


def expected_answer(model_path: Path, tmp_path: Path, link: SlowLink) -> tuple[int, ...]:
    """What is answered by the one who computes everything, and leaves it in Redis."""
    link.set(0.0, FAST)
    with open_llm(model_path, tmp_path, "first") as llm:
        return answer(llm, PROMPT, 16).token_ids


def test_what_a_far_redis_has_is_loaded_although_nobody_knew_of_it(
    model_path: Path, tmp_path: Path, link: SlowLink
) -> None:
    expected = expected_answer(model_path, tmp_path, link)
    link.set(0.1, FAST)
    with open_llm(model_path, tmp_path, "second") as llm:
        answer(llm, OTHER, 1)
        completion = answer(llm, PROMPT, 16)
        kv = completion.usage.kv
        assert completion.token_ids == expected
        assert kv.redis > 0
        assert kv.redis + kv.computed == len(PROMPT)
        llm.engine.check()


def test_two_requests_fetch_their_common_beginning_once(model_path: Path, tmp_path: Path, link: SlowLink) -> None:
    expected = expected_answer(model_path, tmp_path, link)
    link.set(0.02, FAST)
    with open_llm(model_path, tmp_path, "second") as llm:
        params = SamplingParams(temperature=0.0, max_tokens=16, ignore_eos=True)
        both = llm.generate([PROMPT, PROMPT], params)
        assert [completion.token_ids for completion in both] == [expected, expected]
        stats = llm.engine.stats().tiers
        assert stats is not None
        assert stats.redis_loaded_blocks == len(PROMPT) // BLOCK
        llm.engine.check()


def test_a_link_of_a_megabyte_a_second_is_given_up_and_then_left_alone(
    model_path: Path, tmp_path: Path, link: SlowLink
) -> None:
    expected = expected_answer(model_path, tmp_path, link)
    with open_llm(model_path, tmp_path, "second") as llm:
        answer(llm, OTHER, 1)
        link.set(0.0, 1e6)
        for _ in range(2):
            completion = answer(llm, PROMPT, 16)
            assert completion.token_ids == expected
            assert completion.usage.kv.redis < len(PROMPT) // 2
            llm.engine.core.scheduler.blocks.pool.forget_free()
        assert completion.usage.kv.redis == 0
        link.set(0.0, FAST)
        # What is still under way comes in; nothing keeps a lock.
        until(lambda: _step_and_see_no_late(llm))
        llm.engine.check()


def _step_and_see_no_late(llm: LLM) -> bool:
    llm.engine.step()
    return llm.engine.core.next_poll_seconds() is None
