"""Response bodies of the places of chats, and of their prefetch."""

from typing import Annotated

from typing_extensions import TypedDict

from app.schemas.response_bodies.by_tier import OneTier
from cache_tiers.tier import TierId


class ChatPlace(TypedDict):
    """The lowest tier that a conversation's next turn has to load KV from.

    place: null if no KV of the conversation is kept.
    """

    conversation_id: str
    place: Annotated[TierId, OneTier()] | None


class Places(TypedDict):
    """The tiers of the conversations that exist."""

    data: list[ChatPlace]


class Warming(TypedDict):
    """The result of a request to prefetch a conversation's KV.

    warming: whether any KV is being prefetched.
    """

    warming: bool
