from cache_tiers.histogram import Histogram


def test_value_is_counted_under_first_bound_not_below_it() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.5):
        histogram.observe(value)
    assert histogram.counts == [2, 1, 1]
    assert histogram.count == 4
    assert histogram.total == 5.5
