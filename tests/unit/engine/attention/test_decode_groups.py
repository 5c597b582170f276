import random

from engine.attention.gathered_plan import SHORT_BLOCKS, group_decodes


def blocks_of(length: int) -> int:
    return -(-length // 64)


def test_every_sequence_is_in_exactly_one_group() -> None:
    draw = random.Random(3)
    for _ in range(200):
        lengths = [draw.randint(1, draw.choice((100, 3000, 9000))) for _ in range(draw.randint(1, 40))]
        groups = group_decodes(lengths, 64, 100)
        assert sorted(i for group in groups for i in group.members) == list(range(len(lengths)))
        for group in groups:
            assert group.num_blocks == max(blocks_of(lengths[i]) for i in group.members)
            assert list(group.members) == sorted(group.members)


def test_padding_at_most_doubles_long_sequence() -> None:
    lengths = [8000, 4100, 3900, 2100, 1500, 900, 60]
    for group in group_decodes(lengths, 64, 10_000):
        if group.num_blocks > SHORT_BLOCKS:
            assert all(blocks_of(lengths[i]) * 2 >= group.num_blocks for i in group.members)


def test_short_sequences_of_any_length_share_one_group() -> None:
    assert len(group_decodes([1, 64, 500, 130, 512], 64, 10_000)) == 1


def test_group_exceeds_its_bound_only_for_one_long_sequence() -> None:
    groups = group_decodes([640] * 10 + [6400], 64, 30)
    assert sorted(len(group.members) * group.num_blocks for group in groups) == [10, 30, 30, 30, 100]


def test_no_decodes_make_no_groups() -> None:
    assert group_decodes([], 64, 10) == []
