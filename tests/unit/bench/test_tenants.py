import pytest

from bench.tenants import Probe, auc, row


@pytest.mark.parametrize(
    ("lower", "higher", "expected"),
    [
        ([1.0, 2.0], [3.0, 4.0, 5.0], 1.0),
        ([3.0, 4.0], [1.0, 2.0], 0.0),
        ([1.0, 3.0], [2.0, 4.0], 0.75),
        ([1.0], [1.0, 1.0], 0.5),
        ([1.0, 2.0], [2.0, 3.0], 0.875),
    ],
)
def test_auc_is_share_of_pairs_in_right_order(lower: list[float], higher: list[float], expected: float) -> None:
    assert auc(lower, higher) == expected


def test_values_of_one_kind_have_no_auc() -> None:
    with pytest.raises(ValueError, match="both kinds"):
        auc([1.0], [])


def test_auc_of_zero_misses_the_target_like_auc_of_one() -> None:
    slower_if_asked = [Probe("another tenant", "cpu", at < 10, 20.0 - at, 0) for at in range(20)]
    result = row(slower_if_asked, "another tenant", ["cpu"])
    assert result.auc == 0.0
    assert not result.is_met
