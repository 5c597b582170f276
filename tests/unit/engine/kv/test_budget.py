"""The default sizes of a server's KV memory."""

from engine.kv.budget import KVBudget, kv_budget, redis_budget
from engine.kv.budget_report import memory_line, shortage, too_few_tokens, too_small

GIB = 1 << 30
MIB = 1 << 20


def test_explicit_sizes_ignore_free_memory() -> None:
    assert kv_budget(7 * GIB, 5 * GIB, free=GIB, window_nbytes=GIB) == KVBudget(7 * GIB, 5 * GIB)
    assert kv_budget(7 * GIB, 0, free=GIB, window_nbytes=GIB) == KVBudget(7 * GIB, 0)


def test_cpu_tier_is_three_times_the_pool() -> None:
    assert kv_budget(2 * GIB, None, free=GIB, window_nbytes=GIB).cpu_tier == 6 * GIB
    assert kv_budget(0, None, free=1000 * GIB, window_nbytes=GIB) == KVBudget(3 * GIB, 9 * GIB)


def test_pool_of_large_machine_holds_three_windows() -> None:
    assert kv_budget(0, 0, free=1000 * GIB, window_nbytes=GIB).pool == 3 * GIB


def test_pool_and_cpu_tier_leave_half_of_small_machine_free() -> None:
    budget = kv_budget(0, None, free=10 * GIB, window_nbytes=GIB)
    assert budget == KVBudget(GIB, 3 * GIB)
    assert kv_budget(0, None, free=10 * GIB, window_nbytes=4 * GIB) == KVBudget(2 * GIB, 3 * GIB)


def test_pool_of_small_machine_holds_one_window_if_a_fifth_does() -> None:
    assert kv_budget(0, None, free=1000 * MIB, window_nbytes=180 * MIB) == KVBudget(180 * MIB, 320 * MIB)


def test_redis_takes_an_eighth_of_available_memory() -> None:
    assert redis_budget(None, 4 * GIB) == GIB // 2
    assert redis_budget(None, 100 * GIB) == 2 * GIB
    assert redis_budget(None, 0) == MIB
    assert redis_budget(3 * GIB, GIB) == 3 * GIB


def test_defaults_of_all_tiers_leave_a_quarter_of_memory_free() -> None:
    for free in (200 * MIB, GIB, 4 * GIB, 100 * GIB):
        budget = kv_budget(0, None, free=free, window_nbytes=180 * MIB)
        assert budget.pool + budget.cpu_tier + redis_budget(None, free) <= 0.75 * free
        assert not shortage(budget, redis_budget(None, free), 16 * MIB, free=free)


def test_sizes_are_logged_in_one_line() -> None:
    budget = KVBudget(43 * MIB, 130 * MIB)
    assert memory_line(budget, 119 * MIB, 15 * MIB, weights=257 * MIB, free=GIB) == (
        "memory: weights 257 MiB, device pool 43 MiB, CPU tier 130 MiB, Redis up to 119 MiB, sealing 15 MiB, "
        "of 1,024 MiB that the weights leave free"
    )
    assert memory_line(budget, 0, 0, weights=257 * MIB, free=GIB, host_free=2 * GIB) == (
        "memory: weights 257 MiB, device pool 43 MiB of 1,024 MiB that the weights leave free on the device; "
        "CPU tier 130 MiB, Redis up to 0 MiB, sealing 0 MiB of 2,048 MiB"
    )


def test_sizes_that_cannot_fit_are_named_with_their_settings() -> None:
    assert shortage(KVBudget(GIB, 3 * GIB), GIB, 0, free=4 * GIB) == (
        "the sizes set for the KV memory add up to 5,120 MiB, but 4,096 MiB are free: "
        "lower --kv-memory or --cpu-kv-memory or --redis-memory"
    )
    assert "lower --kv-memory" in shortage(KVBudget(2 * GIB, 0), 0, 0, free=GIB, host_free=GIB)
    assert "lower --cpu-kv-memory or --redis-memory" in shortage(KVBudget(1, GIB), 0, 1, free=GIB, host_free=GIB)
    assert not shortage(KVBudget(GIB, 0), 0, 0, free=GIB, host_free=GIB)


def test_pool_below_a_usual_chat_names_the_size_to_set() -> None:
    warning = too_few_tokens(64, 8192, MIB, 64)
    assert warning.startswith("the KV memory holds 64 tokens, so longer chats are refused.")
    assert "--kv-memory to 128MiB for the model's whole window of 8192 tokens" in warning
    assert not too_few_tokens(2048, 8192, MIB, 64)
    assert not too_few_tokens(512, 512, MIB, 64)
    assert too_small(0, 8192, MIB, 64).endswith("--kv-memory to at least 32MiB for 2048 tokens.")


def test_pool_takes_most_of_device_and_cpu_tier_half_of_host() -> None:
    budget = kv_budget(0, None, free=50 * GIB, window_nbytes=GIB, host_free=100 * GIB)
    assert budget == KVBudget(40 * GIB, 50 * GIB)
    assert kv_budget(0, None, free=10 * GIB, window_nbytes=GIB, host_free=100 * GIB).cpu_tier == 24 * GIB
    assert kv_budget(GIB, 2 * GIB, free=GIB, window_nbytes=GIB, host_free=GIB) == KVBudget(GIB, 2 * GIB)
