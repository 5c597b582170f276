"""How much memory a server takes for KV when nobody says how much."""

from engine.kv.budget import KVBudget, kv_budget

GIB = 1 << 30


def test_sizes_that_are_given_are_taken_whatever_is_free() -> None:
    assert kv_budget(7 * GIB, 5 * GIB, free=GIB, window_nbytes=GIB) == KVBudget(7 * GIB, 5 * GIB)
    assert kv_budget(7 * GIB, 0, free=GIB, window_nbytes=GIB) == KVBudget(7 * GIB, 0)


def test_the_cpu_tier_is_three_times_the_pool_since_it_holds_the_same_blocks() -> None:
    assert kv_budget(2 * GIB, None, free=GIB, window_nbytes=GIB).cpu_tier == 6 * GIB
    assert kv_budget(0, None, free=1000 * GIB, window_nbytes=GIB) == KVBudget(3 * GIB, 9 * GIB)


def test_on_a_large_machine_the_pool_holds_three_whole_windows() -> None:
    assert kv_budget(0, 0, free=1000 * GIB, window_nbytes=GIB).pool == 3 * GIB


def test_on_a_small_machine_pool_and_cpu_tier_leave_more_than_half_to_others() -> None:
    budget = kv_budget(0, None, free=10 * GIB, window_nbytes=4 * GIB)
    assert budget.pool == GIB
    assert budget.pool + budget.cpu_tier < 10 * GIB / 2


def test_a_device_with_memory_of_its_own_gives_most_of_it_and_the_host_at_most_half() -> None:
    budget = kv_budget(0, None, free=50 * GIB, window_nbytes=GIB, host_free=100 * GIB)
    assert budget == KVBudget(40 * GIB, 50 * GIB)
    assert kv_budget(0, None, free=10 * GIB, window_nbytes=GIB, host_free=100 * GIB).cpu_tier == 24 * GIB
    assert kv_budget(GIB, 2 * GIB, free=GIB, window_nbytes=GIB, host_free=GIB) == KVBudget(GIB, 2 * GIB)
