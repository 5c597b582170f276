import pytest

from engine.attention.tiles import MAX_SPLITS, cut_rows, decode_shape, num_splits, prompt_shape

GROUPS = (1, 2, 3, 4, 7, 8, 12, 48, 64)


def test_every_row_is_in_one_tile_at_its_position() -> None:
    spans, starts = cut_rows([(0, 0, 70, 5), (2, 71, 1, 900), (3, 72, 32, 0)], 32)
    assert list(zip(*spans, starts, strict=True)) == [
        (0, 0, 32, 5),
        (0, 32, 32, 37),
        (0, 64, 6, 69),
        (2, 71, 1, 900),
        (3, 72, 32, 0),
    ]


@pytest.mark.parametrize("block_size", [16, 48, 64, 128])
@pytest.mark.parametrize("row_bytes", [32, 128, 256, 512, 1024])
@pytest.mark.parametrize("group", GROUPS)
def test_tile_holds_whole_rows_and_keys_of_one_block(group: int, row_bytes: int, block_size: int) -> None:
    for shape in (prompt_shape(group, row_bytes, block_size), decode_shape(group, row_bytes, block_size)):
        assert shape.lines % group == 0
        assert 0 < shape.lines <= shape.rows
        assert block_size % shape.keys == 0
        assert all(size >= 16 and size & (size - 1) == 0 for size in (shape.rows, shape.keys))


def test_keys_are_split_only_where_tiles_are_few() -> None:
    assert num_splits(1, 8, 132) == 33
    assert num_splits(1, 1, 132) == MAX_SPLITS
    assert [num_splits(tiles, 8, 132) for tiles in (32, 33, 128)] == [1, 1, 1]
