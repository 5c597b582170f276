"""Roles of replicas: which settings are refused, and which requests are handed over."""

from dataclasses import replace
from pathlib import Path

import pytest

from cache_tiers.config import TierConfig
from engine.api.errors import EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.role import Role
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.fleet.routing.roles import check_roles, may_be_handed_over, suits, with_roles

CONFIG = EngineConfig(
    model=ModelConfig(path=Path("model"), name="model"),
    cache=CacheConfig(tiers=TierConfig(None, "auto", 1 << 30, Path("state")), secret=b"secret"),
)
REQUEST = GenerateRequest(prompt_token_ids=[1, 2], params=SamplingParams())


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (("prefill", "decode", "both"), "--replica-roles has 3 roles for 2 replicas"),
        (("decode", "decode"), "no replica computes prompts"),
        (("prefill", "prefill"), "no replica computes answers"),
    ],
)
def test_roles_that_leave_work_undone_are_refused(roles: tuple[Role, ...], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        check_roles(roles, 2, CONFIG)


@pytest.mark.parametrize("roles", [(), ("prefill", "decode"), ("both", "decode"), ("both", "prefill")])
def test_each_part_needs_one_replica(roles: tuple[Role, ...]) -> None:
    check_roles(roles, 2, CONFIG)


def test_roles_need_redis() -> None:
    assert CONFIG.cache.tiers is not None
    for off in (
        CONFIG.with_fields(tiers=replace(CONFIG.cache.tiers, redis_url="off")),
        CONFIG.with_fields(prefix_cache=False),
    ):
        check_roles((), 2, off)
        with pytest.raises(EngineError, match="handed over through Redis, which is off"):
            check_roles(("prefill", "decode"), 2, off)


def test_replicas_get_their_roles() -> None:
    assert [each.parallel.role for each in with_roles([CONFIG] * 2, ("prefill", "decode"))] == ["prefill", "decode"]
    assert [each.parallel.role for each in with_roles([CONFIG] * 2, ())] == ["both", "both"]


def test_role_suits_its_part() -> None:
    assert [suits(role, "prompt") for role in ("both", "prefill", "decode")] == [True, True, False]
    assert [suits(role, "answer") for role in ("both", "prefill", "decode")] == [True, False, True]


def test_request_without_blocks_stays_where_it_is() -> None:
    assert may_be_handed_over(REQUEST)
    assert not may_be_handed_over(replace(REQUEST, keep_kv=False))
    assert not may_be_handed_over(replace(REQUEST, params=SamplingParams(prompt_logprobs=1)))
    assert not may_be_handed_over(replace(REQUEST, params=SamplingParams(temperature=0.0, pooling="mean")))
