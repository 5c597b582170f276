"""Bodies of the routes under /api."""

from typing import Annotated, Any

from pydantic import Field

from app.limits import MAX_DRAFT_LENGTH, MAX_PLACES, MAX_TITLE_LENGTH
from app.schemas.parsing import RequestModel
from app.schemas.sampling import ChatParams
from app.schemas.urgency import UrgencyFields

Title = Annotated[str, Field(max_length=MAX_TITLE_LENGTH)]


MessageId = Annotated[str, Field(pattern=r"^msg_[0-9A-Za-z_-]{16,64}$")]


class ConversationFields(RequestModel):
    """POST and PATCH of a conversation: what is left out stays as it is; null clears it."""

    title: Title | None = None
    system_prompt: str | None = None
    params: ChatParams | None = None
    pinned: bool | None = None
    archived: bool | None = None

    def changes(self) -> dict[str, Any]:
        """Only the fields that the client sent, as the store wants them."""
        sent: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        if "params" in sent:
            sent["params"] = given_params(self.params)
        for name in sent.keys() & {"pinned", "archived"}:
            sent[name] = bool(sent[name])
        return sent


class NewMessage(UrgencyFields):
    """POST of a message. Without `parent_id` it follows the conversation's head; null makes a new root.

    id: chosen by the client, so that it can send the same request again without asking twice.
    """

    id: MessageId | None = None
    content: Annotated[str, Field(min_length=1)]
    parent_id: str | None = None
    params: ChatParams | None = None

    @property
    def follows_head(self) -> bool:
        """Whether the client left the parent to us."""
        return "parent_id" not in self.model_fields_set


class RetryFields(UrgencyFields):
    """POST of a retry. id: of the answer, chosen by the client, so that it can send the same request again."""

    id: MessageId | None = None
    params: ChatParams | None = None


class MessageChoice(RequestModel):
    """PUT of the head and POST of a fork: which message is meant."""

    message_id: str


class PlacesWanted(RequestModel):
    """POST of /api/places: of which conversations."""

    conversation_ids: Annotated[list[str], Field(max_length=MAX_PLACES)]


class DraftFields(RequestModel):
    """PUT of a draft."""

    text: Annotated[str, Field(max_length=MAX_DRAFT_LENGTH)]


def given_params(params: ChatParams | None) -> dict[str, Any]:
    """The fields that are set, as JSON."""
    return params.model_dump(exclude_none=True) if params is not None else {}
