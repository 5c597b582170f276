"""Usage in a response body, with the KV receipt and the record of KV reuse that is stored with it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from app.schemas.response_bodies.by_tier import ByTier
from cache_tiers.tier import CPU, DEVICE, TierId
from engine.api.promise import DeclineReason


class Phases(TypedDict):
    """Consecutive phases of a request up to its first token, in milliseconds. `first_token` is their sum."""

    queue: float
    lookup: float
    load: float
    prefill: float
    first_token: float


class ReuseEnd(TypedDict):
    """The reason why the first block that could have been reused was not.

    gone_from: tiers that held the block before.
    """

    cause: str
    detail: str
    gone_from: list[str]


class StoredReuse(TypedDict):
    """The record of KV reuse that is stored with a message.

    until: number of prompt tokens that were reused.
    known: number of prompt tokens that were known to have been computed before.
    end: why reuse ended there, if more was known.
    kv: beginning of the fingerprint of the computed KV, which servers whose KV has other bits do not have. Answers of
        earlier versions lack it.
    """

    until: int
    known: int
    end: ReuseEnd | None
    kv: NotRequired[str]


class VolatileLines(TypedDict):
    """Kinds of lines that change between requests and were treated in the system prompt, by name.

    moved: lines that the prompt has behind its stable part.
    """

    removed: list[str]
    moved: list[str]


PrefetchedTokens = Annotated[
    Mapping[TierId, int],
    ByTier("PrefetchedTokens", int, "Prefetched tokens, by tier.", leaves_out=(DEVICE.id, CPU.id)),
]
"""Tokens that were brought to the device or to CPU memory before the request arrived."""


class PromisedKV(TypedDict):
    """KV of the prompt's first tokens that the disk keeps.

    tokens: number of these tokens.
    declined: number of the tokens after them that were to be promised and are not.
    until: end of the promise without a further use; null if nothing is promised.
    reason: why tokens were declined; null if none were.
    """

    tokens: int
    declined: int
    until: float | None
    reason: DeclineReason | None


class ReceiptFigures(TypedDict):
    """Fields of the receipt after those of the tiers."""

    computed: int
    restore_ms: float
    bytes: Annotated[Mapping[TierId, int], ByTier("TierBytes", int, "Bytes loaded, by tier.", leaves_out=(DEVICE.id,))]
    blocks_verified: int
    saved_ms: float | None
    phases_ms: Phases
    prefetched: NotRequired[Annotated[PrefetchedTokens | None, Field(default=None)]]
    form: NotRequired[Annotated[Literal["valid", "invalid", "unchecked"] | None, Field(default=None)]]
    promise: NotRequired[Annotated[PromisedKV | None, Field(default=None)]]
    volatile_lines: NotRequired[Annotated[VolatileLines | None, Field(default=None)]]
    reuse: NotRequired[Annotated[StoredReuse | None, Field(default=None)]]


KVReceipt = Annotated[
    dict[str, Any],
    ByTier(
        "KVReceipt",
        int,
        """Origin of the KV of the prompt's tokens. The tokens of each tier and `computed` add up to the prompt.

saved_ms: estimated time to compute the reused tokens, minus the wait for them; null while there is no estimate.
blocks_verified: blocks from tiers below CPU memory whose MAC was verified.
prefetched: tokens that were brought from a lower tier while the question was typed; missing if there were none.
form: verdict on an answer whose form has keywords that are not enforced; missing for other answers.
promise: tokens that the disk keeps; missing if the request did not ask for it.
volatile_lines: lines of the system prompt that were removed or moved; missing if there were none.""",
        ReceiptFigures,
    ),
]
"""Tokens by tier, and the fields of ReceiptFigures."""


class PromptDetails(TypedDict):
    """Details of the prompt's token count.

    cached_tokens: tokens whose KV came from a tier.
    """

    cached_tokens: int


class CompletionDetails(TypedDict):
    """Details of the answer's token count.

    reasoning_tokens: tokens of the reasoning.
    """

    reasoning_tokens: int


class TokenUsage(TypedDict):
    """Usage of a request, as OpenAI's API has it, with the receipt."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: NotRequired[Annotated[CompletionDetails | None, Field(default=None)]]
    kv: KVReceipt


class Usage(TokenUsage):
    """Usage and timing of one answer.

    tokens_per_second: generation speed after the first token.
    """

    queue_ms: float
    ttft_ms: float
    total_ms: float
    tokens_per_second: float | None
