"""Query parameters of OpenAI's lists, and of retrieving a response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from app.apis.responses.include import check_include
from app.domain.bounds import MAX_ITEMS_PAGE
from app.domain.response_record import message_id_of_item
from engine.api.errors import InvalidRequestError

DEFAULT_PAGE = 20
MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Listing:
    """The requested page of a list.

    limit: number of items on the page.
    newest_first: `order` is "desc".
    after: id of the last item of the previous page; None for the first page.
    """

    limit: int
    newest_first: bool
    after: str | None

    @classmethod
    def parse(cls, query: QueryParams) -> "Listing":
        """Parse the query parameters. Raise InvalidRequestError."""
        check_include(query)
        order = query.get("order", "desc")
        if order not in ("asc", "desc"):
            raise InvalidRequestError("order must be asc or desc", param="order")
        limit = number(query, "limit")
        if limit is not None and not 1 <= limit <= MAX_ITEMS_PAGE:
            raise InvalidRequestError(f"limit must be from 1 to {MAX_ITEMS_PAGE}", param="limit")
        return cls(limit or DEFAULT_PAGE, order == "desc", query.get("after"))

    @property
    def since(self) -> str | None:
        """The message of the last item seen, which may have further items. None for the first page."""
        return message_id_of_item(self.after) if self.after is not None else None

    @property
    def num_messages(self) -> int:
        """Number of messages to read for the page, each of which has at least one item.

        The page needs the message seen last, one message per item, and one that shows whether more items follow.
        """
        return self.limit + 2

    def page(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Build the page from `items`, oldest first, of at least `num_messages` messages.

        Raise InvalidRequestError if `after` is the id of none of them.
        """
        ordered = list(reversed(items)) if self.newest_first else list(items)
        if self.after is not None:
            seen = next((place for place, item in enumerate(ordered, 1) if item["id"] == self.after), None)
            if seen is None:
                raise InvalidRequestError(f"There is no item {self.after}", param="after")
            ordered = ordered[seen:]
        return list_json(ordered[: self.limit], has_more=len(ordered) > self.limit)


def list_json(items: Sequence[dict[str, Any]], *, has_more: bool = False) -> dict[str, Any]:
    """Build a list object in OpenAI's format."""
    return {
        "object": "list",
        "data": list(items),
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": has_more,
    }


def number(given_by: Mapping[str, str], name: str) -> int | None:
    """Parse a non-negative parameter or header. Returns None if it is missing. Raise InvalidRequestError."""
    given = given_by.get(name)
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > MAX_DIGITS:
        raise InvalidRequestError(f"{name} must be a number", param=name)
    return int(given)
