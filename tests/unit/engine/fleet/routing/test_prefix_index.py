"""Prefixes by the replicas that hold them."""

import pytest

from engine.fleet.routing import prefix_index
from engine.fleet.routing.prefix_index import PrefixIndex, Published
from engine.fleet.wire.report import NO_TIPS, Tips


def published() -> Published:
    return set(), set(), set()


def test_deepest_tip_of_each_row_and_tier_is_found() -> None:
    index, held = PrefixIndex(), [published() for _ in range(20)]
    for row in range(20):
        index.publish(row, held[row], Tips(device=[102]), NO_TIPS)
    index.publish(3, held[3], Tips(device=[104], cpu=[105]), NO_TIPS)
    index.publish(17, held[17], Tips(below=[106]), NO_TIPS)
    found = index.find([101, 102, 103, 104, 105, 106, 107], 20)
    assert found.device.tolist() == [2.0] * 3 + [4.0] + [2.0] * 16
    assert found.near.tolist() == [2.0] * 3 + [5.0] + [2.0] * 16
    assert (found.below, found.last) == (6, None)


def test_withdrawn_tips_and_lost_rows_leave_nothing() -> None:
    index, held = PrefixIndex(), [published(), published()]
    index.publish(0, held[0], Tips(device=[101], cpu=[101, 102]), NO_TIPS)
    index.publish(1, held[1], Tips(device=[101]), NO_TIPS)
    index.note(1, [101, 102])
    index.publish(0, held[0], NO_TIPS, Tips(device=[101, 999]))
    assert index.find([101], 2).device.tolist() == [0.0, 1.0]
    index.remove(0, held[0])
    assert index.find([101, 102], 2).near.tolist() == [0.0, 2.0]
    index.remove(1, held[1])
    assert len(index) == 0


def test_prompts_on_their_way_count_as_held() -> None:
    index = PrefixIndex()
    index.note(1, [101, 102, 103])
    index.note(0, [101])
    found = index.find([101, 102, 103, 104], 3)
    assert found.device.tolist() == [1.0, 3.0, 0.0]
    # The deepest one decides which replica had the conversation last.
    assert found.last == 1


def test_memory_of_own_prompts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_index, "MAX_RECENT", 20)
    index = PrefixIndex()
    for salt, length in ((100, 8), (200, 8), (100, 3), (300, 8)):
        index.note(0, [salt + at for at in range(length)])
    assert len(index) == 11
    # The beginning of the first chain was sent again.
    found = [index.find([salt + at for at in range(8)], 1).device.tolist() for salt in (100, 200, 300)]
    assert found == [[3.0], [0.0], [8.0]]
