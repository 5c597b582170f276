"""Bodies of the routes under /api."""

from typing import Annotated, Any

from pydantic import Field

from app.limits import MAX_TITLE_LENGTH
from app.schemas.parsing import RequestModel
from app.schemas.sampling import SamplingFields
from app.schemas.urgency import UrgencyFields

Title = Annotated[str, Field(max_length=MAX_TITLE_LENGTH)]


class ConversationFields(RequestModel):
    """POST and PATCH of a conversation: what is left out stays as it is; null clears it."""

    title: Title | None = None
    system_prompt: str | None = None
    params: SamplingFields | None = None

    def changes(self) -> dict[str, Any]:
        """Only the fields that the client sent, as the store wants them."""
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "params" in sent:
            sent["params"] = given_params(self.params)
        return sent


class NewMessage(UrgencyFields):
    """POST of a message. Without `parent_id` it follows the conversation's head; null makes a new root."""

    content: Annotated[str, Field(min_length=1)]
    parent_id: str | None = None
    params: SamplingFields | None = None

    @property
    def follows_head(self) -> bool:
        """Whether the client left the parent to us."""
        return "parent_id" not in self.model_fields_set


class RetryFields(UrgencyFields):
    """POST of a retry."""

    params: SamplingFields | None = None


def given_params(params: SamplingFields | None) -> dict[str, Any]:
    """The sampling fields that are set, as JSON."""
    return params.model_dump(exclude_none=True) if params is not None else {}
