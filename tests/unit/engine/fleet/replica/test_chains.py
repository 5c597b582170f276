"""Tips that a replica publishes of its chains."""

import random

import pytest

from cache_tiers.owners.block_key import BlockKey
from engine.fleet.replica import chains
from engine.fleet.replica.chains import ChainBook
from engine.fleet.wire.report import Tips, name_of


def chain(text: str) -> list[BlockKey]:
    """Return a key for each letter. Chains share the keys of their common beginning."""
    return [BlockKey(b"ownerown" + text[: at + 1].encode().ljust(24, b"-")) for at in range(len(text))]


def names(*texts: str) -> list[int]:
    return [name_of(chain(text)[-1]) for text in texts]


class Tiers:
    """Blocks of the device, the CPU tier and the lower tiers, and the tips that were published."""

    def __init__(self) -> None:
        self.held: tuple[set[BlockKey], set[BlockKey], set[BlockKey]] = (set(), set(), set())
        self.book = ChainBook()
        self.published: tuple[set[int], set[int], set[int]] = (set(), set(), set())

    def sync(self) -> tuple[Tips, Tips]:
        """Look up the places, and apply the changes as a router does."""
        device, cpu, below = self.held
        self.book.check((device.__contains__, cpu.__contains__, below.__contains__))
        gained, lost = self.book.take_changes()
        for published, more, fewer in zip(self.published, gained.by_tier, lost.by_tier, strict=True):
            assert not published & set(more), "a name was published twice"
            assert published >= set(fewer), "a name was withdrawn that was not published"
            published -= set(fewer)
            published |= set(more)
        return gained, lost


def test_tip_stands_for_its_prefix() -> None:
    tiers = Tiers()
    tiers.book.use(chain("abcd"))
    tiers.held[0].update(chain("abc"))
    assert tiers.sync() == (Tips(device=names("abc")), Tips())
    tiers.book.use(chain("abcd"))
    tiers.held[0].update(chain("abcd"))
    tiers.held[1].update(chain("ab"))
    assert tiers.sync() == (Tips(device=names("abcd"), cpu=names("ab")), Tips(device=names("abc")))


def test_chain_that_grows_has_one_tip() -> None:
    tiers = Tiers()
    for text in ("ab", "abc", "abcdef"):
        tiers.book.use(chain(text))
        tiers.held[0].update(chain(text))
        tiers.sync()
    assert tiers.published[0] == set(names("abcdef"))
    assert len(tiers.book) == 1


def test_common_prefix_of_two_chains_is_published() -> None:
    tiers = Tiers()
    for text in ("abcdef", "abcxyz"):
        tiers.book.use(chain(text))
        tiers.held[0].update(chain(text))
    tiers.sync()
    assert tiers.published[0] == set(names("abcdef", "abcxyz", "abc"))
    # A continuation replaces the tip that it continues, and leaves the common prefix.
    tiers.book.use(chain("abcxyzz"))
    tiers.held[0].update(chain("abcxyzz"))
    tiers.sync()
    assert tiers.published[0] == set(names("abcdef", "abcxyzz", "abc"))


def test_evicted_end_moves_the_tip_back() -> None:
    tiers = Tiers()
    tiers.book.use(chain("abcd"))
    tiers.held[0].update(chain("abcd"))
    tiers.sync()
    tiers.held[0].difference_update(chain("abcd")[2:])
    assert tiers.sync() == (Tips(device=names("ab")), Tips(device=names("abcd")))
    tiers.held[0].clear()
    tiers.sync()
    assert (tiers.published, len(tiers.book)) == ((set(), set(), set()), 0)


def test_book_is_bounded_and_withdraws_what_it_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MAX_CHAINS", 10)
    monkeypatch.setattr(chains, "MAX_BLOCKS", 40)
    monkeypatch.setattr(chains, "MAX_CHANGES", 3)
    tiers, draw = Tiers(), random.Random(1)
    for _ in range(300):
        text = "".join(draw.choice("abc") for _ in range(draw.randint(1, 8)))
        tiers.book.use(chain(text))
        for held in tiers.held:
            held.update(chain(text[: draw.randint(0, len(text))]))
            if draw.random() < 0.2:
                held.clear()
        gained, lost = tiers.sync()
        assert max(map(len, (*gained.by_tier, *lost.by_tier))) <= 3
        assert len(tiers.book) <= 10
    for held in tiers.held:
        held.clear()
    for _ in range(100):
        tiers.sync()
    assert (tiers.published, len(tiers.book)) == ((set(), set(), set()), 0)
