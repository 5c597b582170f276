"""Query parameters that several lists share: a page of a list, and the days of a sum."""

from collections.abc import Callable
from typing import Annotated, Any

from app.domain.bounds import MAX_PAGE, MAX_USE_DAYS
from app.http.query_params import Param, Query, whole_numbers
from app.routes.cursors import TimePlace, parse_time_place

DEFAULT_PAGE = 100


def cursor_of(decode: Callable[[str], Any]) -> Param:
    """Return the kind of a cursor, the `next_cursor` of an earlier answer. `decode` raises InvalidRequestError."""
    return Param({"type": "string"}, lambda text, _name: decode(text))


class PageByTime(Query):
    """A page of a list in the order of times."""

    limit: Annotated[int, whole_numbers(1, MAX_PAGE)] = DEFAULT_PAGE
    cursor: Annotated[TimePlace, cursor_of(parse_time_place)] | None = None


class Days(Query):
    """The last days, today included, that are summed up."""

    days: Annotated[int, whole_numbers(1, MAX_USE_DAYS)] = 30
