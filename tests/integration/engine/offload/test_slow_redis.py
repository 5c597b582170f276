"""Redis behind a slow network, on the real model: load decisions cost time at most and change no answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.slow_link import FAST, SlowLink
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, answer, engine_config
from tests.leaks import assert_no_leaks
from tests.redis_server import RedisServer
from tests.sizes import MANY_PROCESSES
from tests.waiting import until

PROMPT = [1000 + (at * 7919) % 20000 for at in range(12 * BLOCK + 5)]
COUNT = 16

SHORT = [30000 + (at * 104729) % 10000 for at in range(3 * BLOCK)]
"""Prompt that shares no block with the other."""


@dataclass(frozen=True)
class Computed:
    """Answer to `PROMPT` of an engine that computed every block and stored the blocks in `redis`."""

    redis: RedisServer
    token_ids: tuple[int, ...]


@pytest.fixture(scope="module")
def computed(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Computed]:
    folder = tmp_path_factory.mktemp("computed")
    redis = RedisServer(folder)
    try:
        with LLM(engine_config(model_path, folder / "state", blocks=100, redis_url=f"unix://{redis.socket}")) as llm:
            token_ids = answer(llm, PROMPT, COUNT).token_ids
        yield Computed(redis, token_ids)
    finally:
        redis.kill()


@pytest.fixture
def link(computed: Computed, tmp_path: Path) -> Iterator[SlowLink]:
    """Link to the server at the socket `tmp_path / "link"`, at full speed."""
    with SlowLink(tmp_path / "link", computed.redis.socket) as link:
        link.set(0.0, FAST)
        yield link


def open_llm(model_path: Path, tmp_path: Path) -> LLM:
    """Open a new engine without any cached block, which reaches Redis over the link."""
    return LLM(engine_config(model_path, tmp_path / "state", blocks=100, redis_url=f"unix://{tmp_path / 'link'}"))


@pytest.mark.usefixtures("patient_loads")
def test_new_engine_loads_blocks_from_a_distant_redis(
    model_path: Path, tmp_path: Path, computed: Computed, link: SlowLink
) -> None:
    link.set(0.03, FAST)
    with open_llm(model_path, tmp_path) as llm:
        completion = answer(llm, PROMPT, COUNT)
        kv = completion.usage.kv
        assert completion.token_ids == computed.token_ids
        assert kv.reused["redis"] == len(PROMPT) // BLOCK * BLOCK
        assert kv.reused["redis"] + kv.computed == len(PROMPT)
        assert_no_leaks(llm.engine)


@pytest.mark.usefixtures("patient_loads")
def test_two_requests_load_their_common_prefix_once(
    model_path: Path, tmp_path: Path, computed: Computed, link: SlowLink
) -> None:
    link.set(0.02, FAST)
    with open_llm(model_path, tmp_path) as llm:
        params = SamplingParams(temperature=0.0, max_tokens=COUNT, ignore_eos=True)
        both = llm.generate([PROMPT, PROMPT], params)
        assert [each.outputs[0].token_ids for each in both] == [computed.token_ids] * 2
        stats = llm.engine.stats().tiers.store
        assert stats is not None
        assert stats.lower["redis"].loaded_blocks == len(PROMPT) // BLOCK
        assert_no_leaks(llm.engine)


@MANY_PROCESSES
def test_link_of_1_mb_per_second_is_abandoned(
    model_path: Path, tmp_path: Path, computed: Computed, link: SlowLink
) -> None:
    with open_llm(model_path, tmp_path) as llm:
        answer(llm, SHORT, 1)
        link.set(0.0, 1e6)
        for _ in range(2):
            completion = answer(llm, PROMPT, COUNT)
            assert completion.token_ids == computed.token_ids
            assert completion.usage.kv.reused["redis"] < len(PROMPT) // 2
            llm.engine.core.scheduler.blocks.pool.forget_free()
        assert completion.usage.kv.reused["redis"] == 0
        link.set(0.0, FAST)
        # Loads under way end late, and no lock is left.
        until(lambda: _step_and_see_no_late(llm))
        assert_no_leaks(llm.engine)


def _step_and_see_no_late(llm: LLM) -> bool:
    llm.engine.step()
    return llm.engine.core.next_poll_seconds() is None
