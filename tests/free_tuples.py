"""Count of the freed tuples that Python keeps for reuse."""

import re
import sys

import pytest


def free_tuples(size: int, capfd: pytest.CaptureFixture[str]) -> int:
    """Return the number of freed tuples of `size` items that Python keeps.

    A tuple made from a generator is made in another size first. Each one that is freed adds to those kept, up to 2,000
    of each size.
    """
    capfd.readouterr()
    sys._debugmallocstats()
    found = re.search(rf"(\d+) free {size}-sized PyTupleObjects", capfd.readouterr().err)
    assert found is not None
    return int(found[1])
