"""The cost of what strangers send grows in proportion to its size: one row for each parser of the server."""

from typing import Final

import pytest
from starlette.datastructures import Headers

from app.access.authentication import COOKIE, shown_login
from tests.cost_rows import MOST_GROWTH, CostRow, growth
from tests.sizes import Size

ROWS: Final = (
    CostRow(
        "cookie with escapes",
        lambda size: Headers({"host": "localhost", "cookie": f'{COOKIE}="' + "\\" * size + '"'}),
        shown_login,
        2_000,
        16_000,
    ),
    CostRow(
        "many cookies",
        lambda size: Headers({"host": "localhost", "cookie": "a=b;" * size + f"{COOKIE}=c"}),
        shown_login,
        1_000,
        16_000,
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
