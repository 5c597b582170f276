"""Predicted hits at other sizes, against replays of the same requests at these sizes."""

import hashlib
from collections.abc import Sequence
from functools import partial

import pytest

from bench.eviction import PolicyTier, replay
from bench.eviction_trace import AGENTS, MIXES, Ask, Mix, trace
from cache_tiers.cpu.eviction import EvictionName, make_eviction
from cache_tiers.curves.mini_tier import MOST_BLOCKS, MiniTier, Samples, Use, level_of
from cache_tiers.curves.reuse_curves import FACTORS, MOST_TENANTS, Curve, ReuseCurves
from cache_tiers.owners.block_key import OWNER_BYTES, BlockKey, Owner
from cache_tiers.owners.owners import Owners

WITHIN = 0.02


def key(name: str, owner: bytes = b"tenant a") -> BlockKey:
    assert len(owner) == OWNER_BYTES
    return BlockKey(owner + hashlib.sha256(name.encode()).digest()[OWNER_BYTES:])


def chain(name: str, count: int, owner: bytes = b"tenant a") -> list[BlockKey]:
    return [key(f"{name}/{index}", owner) for index in range(count)]


def short_trace(mix: Mix, count: int) -> list[Ask]:
    """Return the first requests of a trace, with keys as the engine makes them."""
    asks = trace(mix, 1)[:count]
    keys = {each: key(each.decode()) for ask in asks for each in ask.chain}
    return [Ask(ask.at, ask.num_prompt, tuple(keys[each] for each in ask.chain)) for ask in asks]


def hot_prefix(count: int) -> list[Ask]:
    """Return prompts that share their first blocks, as all chats of a server with a system prompt do."""
    head = chain("system", 8)
    found = []
    for number in range(count):
        # Every prompt is asked twice, 300 prompts apart.
        name = f"own/{number if number < 300 or number % 2 else number - 300}"
        found.append(Ask(float(number), 68, (*head, *chain(name, 60))))
    return found


def predicted(asks: Sequence[Ask], capacity: int, eviction: EvictionName = "returning") -> Curve:
    curves = ReuseCurves(lambda: {"cpu": capacity}, lambda _: partial(make_eviction, eviction), Owners(), clock=float)
    for ask in asks:
        curves.note(ask.chain, ask.num_prompt, 0, range(0))
    return curves.curves()["cpu"][None]


@pytest.mark.parametrize(
    ("asks", "capacity", "eviction"),
    [
        pytest.param(short_trace(MIXES[1], 1000), 1024, "returning", id="chats and calls"),
        pytest.param(short_trace(AGENTS, 800), 1024, "returning", id="agents"),
        pytest.param(hot_prefix(600), 4096, "lru", id="shared prefix"),
    ],
)
def test_curve_is_within_two_points_of_replays(asks: Sequence[Ask], capacity: int, eviction: EvictionName) -> None:
    curve = predicted(asks, capacity, eviction)
    for factor, found in zip(FACTORS, curve.found, strict=True):
        replayed = replay(asks, PolicyTier(round(capacity * factor), make_eviction(eviction)))
        assert found / curve.asked == pytest.approx(replayed, abs=WITHIN), f"at {factor} of the size"


def test_samples_are_nested_parts_of_chains() -> None:
    blocks = chain("a", 4000)
    samples = Samples(blocks)
    # The order of the questions does not matter.
    indices, keys = samples.of(4)
    assert keys == [blocks[index] for index in indices]
    assert set(keys) < set(samples.of(2)[1]) < set(blocks)
    assert all(level_of(each) >= 4 for each in keys)
    assert len(keys) == pytest.approx(4000 / 16, rel=0.3)


def test_memory_of_large_tier_is_bounded() -> None:
    tier = MiniTier(1 << 20, partial(make_eviction, "lru"), Owners())
    assert (1 << 20) >> tier.level == MOST_BLOCKS


def test_work_beyond_bound_halves_samples() -> None:
    times = iter(range(10_000))
    curves = ReuseCurves(
        lambda: {"cpu": 1 << 16},
        lambda _: partial(make_eviction, "lru"),
        Owners(),
        # A minute passes with each request, and each request takes two seconds.
        clock=lambda: 60.0 * next(times),
        cpu_clock=lambda: float(next(times)),
    )
    levels = [size.level for size in curves._tiers["cpu"].sizes]
    for number in range(3):
        curves.note(chain(str(number), 40), 40, 0, range(0))
    assert curves.spent_seconds == 3 * 2
    assert all(size.level > level for size, level in zip(curves._tiers["cpu"].sizes, levels, strict=True))


def test_coarser_sample_keeps_its_blocks_within_smaller_tier() -> None:
    tier = MiniTier(4096, partial(make_eviction, "lru"), Owners())
    blocks = chain("a", 4000)
    tier.use(Use(blocks, 4000, 0, range(0), ()), Samples(blocks))
    tier.coarsen()
    sure, found, missed = tier.use(Use(blocks, 4000, 0, range(0), ()), Samples(blocks))
    assert (sure, missed) == (0, 0)
    assert found == sum(level_of(each) >= tier.level for each in blocks)


def test_each_tenant_has_a_curve_and_many_share_one() -> None:
    curves = ReuseCurves(lambda: {"cpu": 1000}, lambda _: partial(make_eviction, "lru"), Owners(), clock=float)
    for number in range(MOST_TENANTS + 10):
        owner = f"{number:08}".encode()
        curves.note(chain("a", 10, owner), 10, 0, range(0))
    found = curves.curves()["cpu"]
    assert found[None].asked == 10 * (MOST_TENANTS + 10)
    assert len(found) <= MOST_TENANTS + 2
    assert found[Owner(f"{MOST_TENANTS + 9:08}".encode())].asked == 10


def test_old_requests_fade() -> None:
    now = [0.0]
    curves = ReuseCurves(lambda: {"cpu": 1000}, lambda _: partial(make_eviction, "lru"), Owners(), clock=lambda: now[0])
    curves.note(chain("a", 10), 10, 0, range(0))
    now[0] = 6 * 3600.0
    assert curves.curves()["cpu"][None].asked == pytest.approx(5)
    assert curves.observed_seconds == pytest.approx(3 * 3600.0)


def test_tier_whose_size_becomes_known_later_gets_a_curve() -> None:
    now, sizes = [0.0], {"redis": 0}
    curves = ReuseCurves(lambda: sizes, lambda _: partial(make_eviction, "lru"), Owners(), clock=lambda: now[0])
    assert curves.curves() == {}
    sizes["redis"] = 100
    now[0] = 1000.0
    assert list(curves.curves()) == ["redis"]
