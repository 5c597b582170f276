"""Lag of a server's event loop, from its /metrics."""

from collections import Counter

from prometheus_client.parser import text_string_to_metric_families


def lag_counts(exposition: str) -> Counter[float]:
    """Count how often the loop was late since the server began, by the upper bound of the bucket in ms."""
    counts, below = Counter[float](), 0.0
    for family in text_string_to_metric_families(exposition):
        if family.name != "ebb_event_loop_lag_seconds":
            continue
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                counts[float(sample.labels["le"]) * 1e3] = round(sample.value - below)
                below = sample.value
    return counts
