import pytest
import torch

from engine.sampling.logprobs import largest, packed_logprobs, unpacked
from tests.fake_npu.host_copies import HostCopies


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


@pytest.mark.parametrize("most", [0, 1, 20])
def test_packed_logprobs_are_those_of_each_token(most: int) -> None:
    logits = torch.randn(3, 1 << 19, generator=torch.Generator().manual_seed(4))
    ids = [0, 7, (1 << 19) - 1]
    with HostCopies() as copies:
        packed = packed_logprobs(logits, torch.tensor(ids), most)
    assert not copies.elements
    expected = logits.log_softmax(-1)
    for row, each in enumerate(unpacked(packed, ids, [most, most // 2, 0])):
        assert (each.token_id, each.logprob) == (ids[row], expected[row, ids[row]].item())
        values, places = expected[row].topk([most, most // 2, 0][row])
        assert each.top == tuple(zip(places.tolist(), values.tolist(), strict=True))
