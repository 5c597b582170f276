"""Response bodies of the models that chats can have."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from typing_extensions import TypedDict

from app.host.served_model import ModelState
from app.schemas.response_bodies.described_as import DescribedAs
from app.schemas.response_bodies.errors import ErrorBody
from app.schemas.response_bodies.health import SamplingDefaults
from models.thinking import ThinkingMode


class ModelProgress(TypedDict):
    """State of a model.

    progress: step of a load, or the reason why the last one failed; null otherwise.
    """

    name: str
    state: ModelState
    progress: str | None


class ChatModel(ModelProgress):
    """A model of the server.

    answers: whether it can answer, and not only embed and rank texts; null for a model that is not on this machine yet.
    default: whether it answers in chats that name no other.
    memory: bytes that it takes in memory; null while that is unknown.
    max_model_len, sampling, thinking: as in the health; null before the model was loaded for the first time.
    tokens: tokens of the conversation in the model's next prompt; null without a conversation, before the first load,
        and if they are too many for the model.
    computed: how many of them the model would compute, since it has not read them or their KV is gone.
    """

    answers: bool | None
    default: bool
    memory: int | None
    max_model_len: int | None
    sampling: Annotated[Mapping[str, float], DescribedAs(SamplingDefaults)] | None
    thinking: list[ThinkingMode] | None
    tokens: int | None
    computed: int | None


class ChatModels(TypedDict):
    """The models of the server, the default one first."""

    data: list[ChatModel]


class LoadFailure(TypedDict):
    """Data of the event `error`, which ends the stream."""

    error: ErrorBody


LOAD_EVENTS: Final[Mapping[str, type[Any]]] = {"loading": ModelProgress, "loaded": ModelProgress, "error": LoadFailure}
"""Data of the events of a load, by the kind of the event."""
