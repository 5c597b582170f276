import pytest
import torch

from engine.sampling.logprobs import largest


@pytest.mark.parametrize(
    ("n", "count"), [(49152, 5), (49152, 20), (1600, 20), (1024, 0), (999, 7), (128, 20), (64, 64)]
)
def test_the_largest_of_each_row_and_where_they_are(n: int, count: int) -> None:
    values = torch.randn(7, n, generator=torch.Generator().manual_seed(n))
    found, places = largest(values, count)
    expected = values.topk(count, dim=-1)
    assert torch.equal(found, expected.values)
    assert torch.equal(places, expected.indices)


def test_neighbours_in_one_stretch_are_all_found() -> None:
    values = torch.zeros(2, 49152)
    values[0, 640:660] = torch.arange(20.0) + 1
    values[1, -20:] = 1 + torch.arange(20.0)
    _, places = largest(values, 20)
    assert places.tolist() == [list(range(659, 639, -1)), list(range(49151, 49131, -1))]
