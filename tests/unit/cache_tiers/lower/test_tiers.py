"""The tiers below CPU memory, used as one."""

from collections.abc import Sequence

import pytest

from cache_tiers.cpu_store.mailbox import Mailbox
from cache_tiers.lower.tier import Block, TierMissReason
from cache_tiers.lower.tiers import LowerTiers
from cache_tiers.owners.owners import Owners
from cache_tiers.tier import Tier
from tests.dict_tier import DictTier
from tests.waiting import until

NEAR, FAR = Tier("near", "the near tier"), Tier("far", "the far tier")
KEYS = [bytes([number]) * 32 for number in range(6)]


@pytest.fixture
def near() -> DictTier:
    return DictTier(NEAR)


@pytest.fixture
def far() -> DictTier:
    return DictTier(FAR)


@pytest.fixture
def lower(near: DictTier, far: DictTier) -> LowerTiers:
    return LowerTiers([near, far], Owners())


def blocks_of(keys: Sequence[bytes]) -> list[Block]:
    return [Block(key, memoryview(bytearray(key[:1] * 8))) for key in keys]


def put(lower: LowerTiers, keys: Sequence[bytes]) -> bool:
    lower.announce(keys)
    stored: Mailbox[tuple[bool]] = Mailbox(lambda: None)
    task = stored.open()
    lower.put(blocks_of(keys), lambda all_stored: stored.put(task, (all_stored,)))
    return until(lambda: stored.take(task))[0]


def erase(tier: DictTier | LowerTiers, keys: Sequence[bytes]) -> bool:
    outcomes: list[bool] = []
    tier.erase(keys, outcomes.append)
    return outcomes == [True]


def find(lower: LowerTiers, keys: Sequence[bytes]) -> list[bool]:
    found: Mailbox[list[bool]] = Mailbox(lambda: None)
    task = found.open()
    lower.find(keys, lambda answer: found.put(task, answer))
    return until(lambda: found.take(task))


def load(lower: LowerTiers, keys: Sequence[bytes]) -> list[bytes | None]:
    blocks = [Block(key, memoryview(bytearray(8))) for key in keys]
    loaded: Mailbox[list[bool]] = Mailbox(lambda: None)
    task = loaded.open()
    lower.load(blocks, lambda outcome: loaded.put(task, outcome))
    outcome = until(lambda: loaded.take(task))
    return [bytes(block.payload) if is_there else None for block, is_there in zip(blocks, outcome, strict=True)]


def test_put_writes_to_every_tier(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    assert put(lower, KEYS)
    assert near.blocks == far.blocks == {key: key[:1] * 8 for key in KEYS}


def test_run_continues_in_the_next_tier(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    assert erase(near, KEYS[2:])
    assert erase(far, [*KEYS[:1], KEYS[5]])
    assert lower.num_known(KEYS) == 5
    assert find(lower, KEYS) == [True] * 5 + [False]
    assert load(lower, KEYS[:5]) == [key[:1] * 8 for key in KEYS[:5]]
    assert [lower.source_of(key) for key in KEYS[:5]] == ["near", "near", "far", "far", "far"]
    assert [lower.place_of(key) for key in KEYS] == ["near", "near", "far", "far", "far", None]


def test_unavailable_tier_is_passed_over(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    near.is_up = False
    assert load(lower, KEYS) == [key[:1] * 8 for key in KEYS]
    assert (near.loaded, far.loaded) == (0, 6)
    assert lower.speed_for(KEYS) == far.speed


def test_unavailable_tiers_deliver_nothing(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    near.is_up = far.is_up = False
    assert not lower.available
    assert lower.speed_for(KEYS) is None
    assert load(lower, KEYS) == [None] * 6


def test_missed_blocks_go_to_the_tier_that_missed_them(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    far.is_up = False
    assert not put(lower, KEYS)
    assert lower.num_missed == 6
    assert lower.take_missed(4) is None
    far.is_up = True
    assert lower.take_missed(4) == (far, KEYS[:4])
    assert lower.take_missed(4) == (far, KEYS[4:])
    assert lower.take_missed(4) is None


def test_miss_names_failing_tier_and_tiers_without_the_block(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    find(lower, KEYS[:1])
    absent = lower.miss_of(KEYS[0])
    assert (absent.reason, absent.tier, absent.gone_from) == (TierMissReason.UNKNOWN_KEY, FAR.name, ("near", "far"))
    near.is_up = False
    find(lower, KEYS[1:2])
    failed = lower.miss_of(KEYS[1])
    assert (failed.text, failed.gone_from) == ("the near tier was skipped", ("far",))


def test_statistics_include_tiers_that_are_off(near: DictTier) -> None:
    stats = LowerTiers([near], Owners(), off=[FAR]).stats()
    assert [(tier, each.state, each.is_on) for tier, each in stats.items()] == [
        ("near", "ok", True),
        ("far", "off", False),
    ]


def test_unavailable_tier_claims_no_block(lower: LowerTiers, near: DictTier, far: DictTier) -> None:
    put(lower, KEYS)
    assert erase(far, KEYS[2:])
    near.is_up = False
    assert find(lower, KEYS) == [True, True, False, False, False, False]
    assert [lower.place_of(key) for key in KEYS[:3]] == ["far", "far", None]


@pytest.mark.parametrize("name", ["", "Disk", "local-disk", "computed", "tier"])
def test_id_that_collides_with_another_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the id of a tier"):
        Tier(name, "a tier")


def test_no_tiers_have_nothing_and_take_nothing() -> None:
    lower = LowerTiers([], Owners())
    assert not put(lower, KEYS)
    assert find(lower, KEYS) == [False] * 6
    assert load(lower, KEYS) == [None] * 6
    assert (lower.tiers, lower.available, lower.num_known(KEYS), lower.stats()) == ((), False, 0, {})
    assert lower.speed_for(KEYS) is None
    assert lower.miss_of(KEYS[0]).reason is TierMissReason.OFF
    assert lower.take_missed(8) is None
    assert lower.flush(0.0)


def test_erasure_is_done_once_no_tier_has_the_blocks(near: DictTier, far: DictTier, lower: LowerTiers) -> None:
    assert put(lower, KEYS)
    far.is_up = False
    assert not erase(lower, KEYS)
    assert set(far.blocks) == set(KEYS)
    far.is_up = True
    assert erase(lower, KEYS)
    assert not near.blocks | far.blocks
