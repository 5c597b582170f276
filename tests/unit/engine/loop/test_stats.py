"""Statistics of the engine: the bytes of tenants, and the periodic log line."""

from collections import Counter

from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import OTHERS, PUBLIC, Owners
from engine.loop.stats import (
    MAX_NAMED,
    BlockStats,
    EngineStats,
    RequestStats,
    StatsLog,
    TokenStats,
    tenant_bytes,
)

STATS = EngineStats(
    tokens=TokenStats(generated=50, reused=Counter(redis=10), computed=7),
    blocks=BlockStats(total=100),
)


def test_line_reports_changes_since_previous_line() -> None:
    log = StatsLog(10.0, STATS, now=100.0)
    assert not log.is_due(109.0)
    assert log.is_due(110.0)
    later = EngineStats(
        requests=RequestStats(running=3),
        tokens=TokenStats(generated=450, reused=Counter(redis=74), computed=27),
        blocks=BlockStats(total=100, used=9),
    )
    assert log.line(later, 120.0) == (
        "3 running, 0 waiting, 0 loading; 20 tokens/s generated; prompts: 20 tokens computed, 64 from Redis; "
        "9 of 100 blocks in use, 0 hold prefixes"
    )
    assert not log.is_due(129.0)
    assert "0 tokens/s generated; prompts: 0 tokens computed, none cached" in log.line(later, 130.0)


def owner(number: int) -> Owner:
    return Owner(number.to_bytes(8, "big"))


def test_only_largest_tenants_are_named() -> None:
    owners, held = Owners(), {}
    for number in range(5000):
        owners.note(owner(number), f"tenant{number}")
        held[owner(number)] = number
    told = tenant_bytes(held, owners, 10)
    assert len(told) == MAX_NAMED + 1
    assert list(told)[:2] == ["tenant4999", "tenant4998"]
    assert sum(told.values()) == 10 * sum(held.values())


def test_owners_with_one_name_are_added_up() -> None:
    owners = Owners()
    owners.note(owner(1), "deleted and made again")
    owners.note(owner(2), "deleted and made again")
    owners.note(owner(3), PUBLIC)
    held = {owner(1): 2, owner(2): 3, owner(3): 1, owner(4): 7}
    assert tenant_bytes(held, owners, 1) == {"deleted and made again": 5, PUBLIC: 1, OTHERS: 7}
