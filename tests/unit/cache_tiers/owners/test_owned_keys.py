"""Bounded memories of keys that several owners share."""

from cache_tiers.lower.known_keys import KnownKeys
from cache_tiers.owners.block_key import BlockKey, Owner, block_key, owner_of
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.recent_keys import RecentKeys
from cache_tiers.owners.shares import OwnedKeys
from engine.block_tables.prefix_log import PrefixLog
from engine.offload.stored_partials import StoredPartials
from tests.unit.engine.block_tables.test_prefix_log import request

QUIET, FLOOD = Owner(b"quiet..."), Owner(b"flood...")


def key(owner: Owner, number: int) -> BlockKey:
    return BlockKey(owner + number.to_bytes(24, "big"))


def test_owner_with_most_forgets_its_oldest() -> None:
    kept: OwnedKeys[BlockKey, int] = OwnedKeys(Owners())
    for owner, count in ((QUIET, 2), (FLOOD, 5)):
        for number in range(count):
            kept.put(key(owner, number), number)
    kept.use(key(FLOOD, 0))
    gone = []
    for _ in range(5):
        gone.append(kept.next_to_go())
        kept.pop(gone[-1])
    assert gone[:3] == [key(FLOOD, number) for number in (1, 2, 3)]
    assert {owner_of(each) for each in gone[3:]} == {QUIET, FLOOD}


def test_size_counts_in_place_of_number() -> None:
    kept: OwnedKeys[BlockKey, str] = OwnedKeys(Owners())
    kept.put(key(QUIET, 0), "large", 10)
    for number in range(5):
        kept.put(key(FLOOD, number), "small")
    assert kept.next_to_go() == key(QUIET, 0)
    kept.put(key(QUIET, 0), "small", 1)
    assert kept.next_to_go() == key(FLOOD, 0)
    assert (len(kept), kept.size) == (6, 6)
    assert kept.pop(key(QUIET, 9)) is None


def test_owners_take_turns_when_keys_are_taken_out() -> None:
    recent: RecentKeys[None] = RecentKeys(100, Owners())
    recent.note([key(FLOOD, number) for number in range(50)], None)
    recent.note([key(QUIET, 0), key(QUIET, 1)], None)
    taken = recent.take_oldest(4)
    assert sorted(taken) == sorted([key(FLOOD, 0), key(FLOOD, 1), key(QUIET, 0), key(QUIET, 1)])
    assert recent.take_oldest(1) == [key(FLOOD, 2)]


def test_flood_leaves_notes_of_neighbour() -> None:
    recent: RecentKeys[int] = RecentKeys(10, Owners())
    known = KnownKeys(10, Owners())
    quiet = [key(QUIET, number) for number in range(4)]
    recent.note(quiet, 7)
    known.learn(quiet, [True] * 4, whole=True)
    for number in range(100):
        recent.note([key(FLOOD, number)], 8)
        known.learn([key(FLOOD, number)], [True], whole=True)
    assert [recent.get(each) for each in quiet] == [7] * 4
    assert known.run(quiet) == 4
    assert len(recent) == 10


def test_flood_leaves_stored_tails_of_neighbour() -> None:
    partials = StoredPartials(Owners(), most=10, least=1)
    parents = {owner: [key(owner, number) for number in range(50)] for owner in (QUIET, FLOOD)}
    for parent in [*parents[QUIET][:4], *parents[FLOOD]]:
        partials.add(parent, block_key(parent, (1, 2)), (1, 2))
    assert all(partials.find(0, parent, (1, 2, 3)) is not None for parent in parents[QUIET][:4])


def test_flood_leaves_prefix_log_of_neighbour() -> None:
    log = PrefixLog(Owners(), 4, most_tokens=100)
    quiet = request("what the neighbour asked", root=key(QUIET, 0))
    log.add(quiet)
    for number in range(50):
        log.add(request(f"{number} is a flood that nobody reads", root=key(FLOOD, 0)))
    assert log.longest(quiet).num_tokens == quiet.num_tokens
    assert log.num_tokens <= 100
