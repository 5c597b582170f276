"""Parser of the text format of /metrics, limited to the parts that a benchmark needs."""

import re

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})? +(\S+)(?: +-?\d+)?$")


def parse_metrics(text: str) -> dict[str, float]:
    """Return each metric's value by name, summed over its labels. Comments and lines of another form are skipped."""
    totals: dict[str, float] = {}
    for line in text.splitlines():
        if found := _SAMPLE.match(line):
            name, value = found.groups()
            totals[name] = totals.get(name, 0.0) + float(value)
    return totals
