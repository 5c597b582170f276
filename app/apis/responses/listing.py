"""Query parameters of OpenAI's lists, and of retrieving a response."""

from collections.abc import Sequence
from typing import Annotated, Any

from app.apis.responses.include import IncludeQuery
from app.domain.bounds import MAX_ITEMS_PAGE
from app.domain.response_record import message_id_of_item
from app.http.query_params import AnyText, Param, one_of, whole_numbers
from engine.api.errors import InvalidRequestError

DEFAULT_PAGE = 20
NUMBER = whole_numbers(0, 10**15 - 1, "a number")


def _item_count(text: str, name: str) -> int:
    number: int = NUMBER.parse(text, name)
    if not 1 <= number <= MAX_ITEMS_PAGE:
        raise InvalidRequestError(f"{name} must be from 1 to {MAX_ITEMS_PAGE}", param=name)
    return number


class Listing(IncludeQuery):
    """The requested page of a list.

    limit: number of items on the page.
    after: id of the last item of the previous page; None for the first page.
    """

    order: Annotated[str, one_of(("asc", "desc"), "asc or desc")] = "desc"
    limit: Annotated[int, Param(whole_numbers(1, MAX_ITEMS_PAGE).schema, _item_count)] = DEFAULT_PAGE
    after: AnyText | None = None

    @property
    def newest_first(self) -> bool:
        """Whether the page begins with the newest item."""
        return self.order == "desc"

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
