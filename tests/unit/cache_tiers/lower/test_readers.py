"""The tier that a block is read from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cache_tiers.lower.readers import Readers, ReadForecast

KEYS = [bytes([number]) * 32 for number in range(24)]
FAST, SLOW = ReadForecast(0.001, 0.002), ReadForecast(0.001, 0.14)


@dataclass
class Tier:
    """A tier that was measured, and what it should have."""

    forecast: ReadForecast | None
    known: Collection[bytes] = frozenset(KEYS)
    available: bool = True

    def num_known(self, keys: Sequence[bytes]) -> int:
        return next((index for index, key in enumerate(keys) if key not in self.known), len(keys))


def assigned(*tiers: Tier, keys: Sequence[bytes] = KEYS) -> list[int]:
    readers = Readers(tiers)
    chosen = [readers.assign(key) for key in keys]
    return [next(index for index, each in enumerate(tiers) if each is tier) for tier in chosen]


def test_faster_tier_reads_whether_nearer_or_not() -> None:
    near, far = Tier(SLOW), Tier(FAST)
    assert assigned(near, far) == [1] * 24
    assert assigned(far, near) == [0] * 24
    assert Readers([near, far]).holder_of(KEYS[0]) is far
    assert Readers([near, far]).fastest() is far


def test_tier_without_the_block_or_unavailable_is_passed_over() -> None:
    assert assigned(Tier(SLOW), Tier(FAST, KEYS[:2])) == [1, 1, *[0] * 22]
    assert assigned(Tier(SLOW), Tier(FAST, available=False)) == [0] * 24
    assert Readers([Tier(FAST, available=False)]).assign(KEYS[0]) is None
    assert Readers([Tier(FAST, ()), Tier(SLOW, ())]).holder_of(KEYS[0]) is None
    assert assigned(Tier(SLOW, ()), Tier(FAST, ())) == [0] * 24, "the nearest one is asked about unknown blocks"


def test_waiting_blocks_divide_a_burst_over_both_tiers() -> None:
    busy = Tier(ReadForecast(FAST.first_seconds + 30 * FAST.block_seconds, FAST.block_seconds))
    idle = Tier(ReadForecast(0.001, 3 * FAST.block_seconds))
    chosen = assigned(busy, idle)
    assert chosen[:10] == [1] * 10, "the fast tier has 30 blocks to deliver first"
    assert set(chosen[10:]) == {0, 1}


def test_unmeasured_tier_reads_only_what_no_measured_one_has() -> None:
    assert assigned(Tier(None), Tier(SLOW, KEYS[:3])) == [1] * 3 + [0] * 21
    assert assigned(Tier(None), Tier(None)) == [0] * 24


FORECASTS = st.none() | st.builds(ReadForecast, st.floats(0, 10), st.floats(1e-6, 1))
TIERS = st.builds(Tier, FORECASTS, st.frozensets(st.sampled_from(KEYS)), st.booleans())


@given(tiers=st.lists(TIERS, max_size=4), count=st.integers(1, 24))
def test_division_ends_no_later_than_any_single_tier(tiers: list[Tier], count: int) -> None:
    if not any(each.available for each in tiers):
        assert Readers(tiers).assign(KEYS[0]) is None
        return
    chosen = assigned(*tiers, keys=KEYS[:count])
    for key, index in zip(KEYS, chosen, strict=False):
        assert tiers[index].available
        holders = [each for each in tiers if each.available and key in each.known]
        assert not holders or tiers[index] in holders, "a block is read where it should be"
    ends = [0.0]
    for index, each in enumerate(tiers):
        if chosen.count(index) and each.forecast is not None:
            ends.append(each.forecast.first_seconds + chosen.count(index) * each.forecast.block_seconds)
    for each in tiers:
        if each.available and each.forecast is not None and set(KEYS[:count]) <= set(each.known):
            assert max(ends) <= each.forecast.first_seconds + count * each.forecast.block_seconds + 1e-9
