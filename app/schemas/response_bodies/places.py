"""Response bodies of the places of chats, of their prefetch, and of promises to pinned ones."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from app.schemas.response_bodies.by_tier import OneTier
from cache_tiers.tier import TierId
from engine.api.promise import DeclineReason

ChatDeclineReason = DeclineReason | Literal["not_pinned", "not_computed", "not_ready"]
"""Reason why the KV of a chat is not promised, or not all of it.

not_pinned: the chat is not pinned. not_computed: the chat has no answer yet, or its next prompt is computed from the
beginning. not_ready: the server has no engine yet.
"""


class ChatPlace(TypedDict):
    """The lowest tier that a conversation's next turn has to load KV from.

    place: null if no KV of the conversation is kept.
    """

    conversation_id: str
    place: Annotated[TierId, OneTier()] | None


class Places(TypedDict):
    """The tiers of the conversations that exist."""

    data: list[ChatPlace]


class PromisedChat(TypedDict):
    """KV of a pinned conversation that the disk keeps.

    tokens: number of the conversation's first tokens whose KV is kept.
    declined: number of the tokens after these that fill blocks and are not kept.
    bytes: size of the KV that is kept.
    reason: why not all of it is kept; null if it is.
    """

    tokens: int
    declined: int
    bytes: int
    reason: ChatDeclineReason | None


class Warming(TypedDict):
    """The result of a request to prefetch a conversation's KV.

    warming: whether any KV is being prefetched.
    """

    warming: bool
