"""Query parameters of lists, and of a response that is looked at again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from app.limits import MAX_ITEMS_PAGE
from app.responses.record import message_id_of_item
from engine.errors import InvalidRequestError

DEFAULT_PAGE = 20
MAX_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Listing:
    """Which part of a list is asked for. newest_first: `order` is "desc". after: the id of the last one seen."""

    limit: int
    newest_first: bool
    after: str | None

    @classmethod
    def parse(cls, query: QueryParams) -> "Listing":
        """Raises InvalidRequestError."""
        refuse_include(query)
        order = query.get("order", "desc")
        if order not in ("asc", "desc"):
            raise InvalidRequestError("order must be asc or desc", param="order")
        limit = number(query, "limit")
        if limit is not None and not 1 <= limit <= MAX_ITEMS_PAGE:
            raise InvalidRequestError(f"limit must be from 1 to {MAX_ITEMS_PAGE}", param="limit")
        return cls(limit or DEFAULT_PAGE, order == "desc", query.get("after"))

    @property
    def since(self) -> str | None:
        """The message of the last item seen, of which more items may follow; None from the beginning."""
        return message_id_of_item(self.after) if self.after is not None else None

    @property
    def num_messages(self) -> int:
        """The most messages that it takes to tell the page: the seen one, the page, and one that says whether more
        follow. Each has an item or more."""
        return self.limit + 2

    def page(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """List the page of `items`, which are given oldest first: those of `num_messages` messages, or more.

        Raises InvalidRequestError if `after` is none of them.
        """
        ordered = list(reversed(items)) if self.newest_first else list(items)
        if self.after is not None:
            seen = next((place for place, item in enumerate(ordered, 1) if item["id"] == self.after), None)
            if seen is None:
                raise InvalidRequestError(f"There is no item {self.after}", param="after")
            ordered = ordered[seen:]
        return list_json(ordered[: self.limit], has_more=len(ordered) > self.limit)


def list_json(items: Sequence[dict[str, Any]], *, has_more: bool = False) -> dict[str, Any]:
    """A list as OpenAI writes it."""
    return {
        "object": "list",
        "data": list(items),
        "first_id": items[0]["id"] if items else None,
        "last_id": items[-1]["id"] if items else None,
        "has_more": has_more,
    }


def number(query: QueryParams, name: str) -> int | None:
    """A parameter that counts something. Raises InvalidRequestError."""
    given = query.get(name)
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or len(given) > MAX_DIGITS:
        raise InvalidRequestError(f"{name} must be a number", param=name)
    return int(given)


def refuse_include(query: QueryParams) -> None:
    """Nothing more can be included. Raises InvalidRequestError."""
    if any(query.getlist("include")) or any(query.getlist("include[]")):
        raise InvalidRequestError("include is not supported yet", param="include", code="unsupported")
