"""The default sizes of a server's KV memory."""

from engine.kv.budget import KVBudget, kv_budget

GIB = 1 << 30


def test_explicit_sizes_ignore_free_memory() -> None:
    assert kv_budget(7 * GIB, 5 * GIB, free=GIB, window_nbytes=GIB) == KVBudget(7 * GIB, 5 * GIB)
    assert kv_budget(7 * GIB, 0, free=GIB, window_nbytes=GIB) == KVBudget(7 * GIB, 0)


def test_cpu_tier_is_three_times_the_pool() -> None:
    assert kv_budget(2 * GIB, None, free=GIB, window_nbytes=GIB).cpu_tier == 6 * GIB
    assert kv_budget(0, None, free=1000 * GIB, window_nbytes=GIB) == KVBudget(3 * GIB, 9 * GIB)


def test_pool_of_large_machine_holds_three_windows() -> None:
    assert kv_budget(0, 0, free=1000 * GIB, window_nbytes=GIB).pool == 3 * GIB


def test_pool_and_cpu_tier_leave_half_of_small_machine_free() -> None:
    budget = kv_budget(0, None, free=10 * GIB, window_nbytes=4 * GIB)
    assert budget.pool == GIB
    assert budget.pool + budget.cpu_tier < 10 * GIB / 2


def test_pool_takes_most_of_device_and_cpu_tier_half_of_host() -> None:
    budget = kv_budget(0, None, free=50 * GIB, window_nbytes=GIB, host_free=100 * GIB)
    assert budget == KVBudget(40 * GIB, 50 * GIB)
    assert kv_budget(0, None, free=10 * GIB, window_nbytes=GIB, host_free=100 * GIB).cpu_tier == 24 * GIB
    assert kv_budget(GIB, 2 * GIB, free=GIB, window_nbytes=GIB, host_free=GIB) == KVBudget(GIB, 2 * GIB)
