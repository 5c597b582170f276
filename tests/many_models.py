"""Combinations of models, weights and kernels, and which of them `make test` runs."""

import itertools
from collections.abc import Collection, Iterable, Mapping

import pytest

MARK = pytest.mark.many_models


def combinations(*axes: Iterable[object], only: Collection[str] | None = None) -> list[pytest.ParameterSet]:
    """Combine every value of each axis with every value of the others.

    `make test` runs the combination of the first values, and those that differ from it in one axis. The others have
    the mark `many_models`.

    axes: a mapping gives its values names, which the ids of the tests show.
    only: names of the values that `make test` runs in place of the first ones; None stands for all.
    """
    named = [
        list(axis.items() if isinstance(axis, Mapping) else ((str(value), value) for value in axis)) for axis in axes
    ]
    every = list(itertools.product(*named))
    chosen = []
    for combination in every:
        changed = [name for (name, _), (first, _) in zip(combination, every[0], strict=True) if name != first]
        names, values = zip(*combination, strict=True)
        is_chosen = not changed or (len(changed) == 1 and (only is None or changed[0] in only))
        chosen.append(pytest.param(*values, id="-".join(names), marks=[] if is_chosen else [MARK]))
    return chosen


def representatives(names: Collection[str], every: Iterable[str]) -> list[pytest.ParameterSet]:
    """Return `every` name, with the mark `many_models` on those that are not in `names`."""
    return [pytest.param(name, id=name, marks=[] if name in names else [MARK]) for name in every]
