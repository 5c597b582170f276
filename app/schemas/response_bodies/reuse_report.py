"""Response body that explains where the reuse of a prompt's KV ended."""

from collections.abc import Mapping
from typing import Annotated, Any

from typing_extensions import TypedDict

from app.domain.records import MessageStatus
from app.schemas.response_bodies.described_as import DescribedAs
from app.schemas.response_bodies.usage import KVReceipt


class PromptSide(TypedDict):
    """One prompt's continuation at the point where two prompts diverge.

    token: id of the first differing token; null if the prompt ends there.
    text: text of that token.
    following: text of the tokens after it.
    """

    token: int | None
    text: str
    following: str


class Divergence(TypedDict):
    """Position at which a prompt diverges from the known prompt with the longest common prefix.

    at: index of the first differing token.
    other: the known prompt's continuation; null if it is no longer known.
    """

    at: int
    before: str
    this: PromptSide
    other: PromptSide | None


class ReuseReport(TypedDict):
    """An explanation of why no more of a run's prompt was reused.

    reused_until: index of the first prompt token that had to be computed.
    gone_from: tiers that held the next block before.
    """

    run_id: str
    message_id: str
    status: MessageStatus
    receipt: Annotated[Mapping[str, Any], DescribedAs(KVReceipt)] | None
    prompt_tokens: int | None
    reusable_tokens: int | None
    reused_until: int | None
    cause: str | None
    explanation: str
    gone_from: list[str]
    diverges: Divergence | None
