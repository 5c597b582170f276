from engine.kv.partial_index import common_ids, num_ids, packed, unpacked

IDS = (0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1)


def test_packed_ids_are_unpacked_again() -> None:
    assert unpacked(packed(IDS)) == IDS
    assert (num_ids(packed(IDS)), num_ids(packed(()))) == (7, 0)


def test_packed_ids_sort_like_the_ids() -> None:
    runs = [IDS[start:stop] for start in range(7) for stop in range(start, 8)]
    assert [unpacked(each) for each in sorted(map(packed, runs))] == sorted(runs)


def test_common_prefix_is_counted_in_ids() -> None:
    # The two ids differ in their last byte alone.
    assert common_ids(packed((1, 2, 256)), packed((1, 2, 257, 4))) == 2
    assert common_ids(packed((1, 2)), packed((1, 2, 3))) == 2
    assert common_ids(packed(()), packed((1,))) == 0
