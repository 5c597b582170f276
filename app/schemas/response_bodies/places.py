"""Response bodies of the places of chats, and of their prefetch."""

from typing_extensions import TypedDict

from engine.outputs import TierName


class ChatPlace(TypedDict):
    """The lowest tier that a conversation's next turn has to load KV from.

    place: null if no KV of the conversation is kept.
    """

    conversation_id: str
    place: TierName | None


class Places(TypedDict):
    """The tiers of the conversations that exist."""

    data: list[ChatPlace]


class Warming(TypedDict):
    """The result of a request to prefetch a conversation's KV.

    warming: whether any KV is being prefetched.
    """

    warming: bool
