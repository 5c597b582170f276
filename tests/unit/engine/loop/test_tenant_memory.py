"""The bytes that tenants hold, as a metric and the live page have them."""

from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.owners import PUBLIC, Owners
from engine.loop.tenant_memory import MAX_NAMED, OTHERS, tenant_bytes


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
