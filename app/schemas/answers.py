"""What the routes under /api answer, as GET /openapi.json describes it and the page reads it.

Nothing is made of these at run time: records say themselves what clients see of them, and a test holds every route's
answers against this, field by field. Times are Unix seconds, durations milliseconds, counts tokens.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.figures import Tier
from app.principal import Scope
from app.records import ConversationSource, MessageStatus, Role, TitleSource
from app.schemas.sampling import ChatParams
from models.thinking import ThinkingMode


class Answer(BaseModel):
    """A JSON object with these fields and no others; one with a default may be missing."""

    model_config = ConfigDict(extra="forbid")


class ErrorBody(Answer):
    """What went wrong, and what to do. param: the field at fault."""

    message: str
    type: str | None
    param: str | None
    code: str | None


class Conversation(Answer):
    """A tree of messages. head_id: the leaf of the path that is shown. version: counts what people did to it."""

    id: str
    title: str | None
    head_id: str | None
    system_prompt: str | None
    params: ChatParams
    created_at: float
    updated_at: float
    source: ConversationSource
    metadata: dict[str, str]
    title_source: TitleSource | None
    pinned: bool
    archived: bool
    version: int


class ConversationPage(Answer):
    """next_cursor: of the page that follows; null on the last one."""

    data: list[Conversation]
    next_cursor: str | None


class Phases(Answer):
    """Milliseconds of a request until its first token, one after the other, and their sum."""

    queue: float
    lookup: float
    load: float
    prefill: float
    first_token: float


class TierBytes(Answer):
    """What was brought from each tier."""

    cpu: int
    redis: int


class ReuseEnd(Answer):
    """Why the first block that could have been reused did not come. gone_from: tiers that had it once."""

    cause: str
    detail: str
    gone_from: list[str]


class StoredReuse(Answer):
    """What a message keeps of it: tokens that were reused and that were known, and why reuse ended."""

    until: int
    known: int
    end: ReuseEnd | None


class KVReceipt(Answer):
    """Where the prompt's tokens came from: the four counts add up to the prompt.

    saved_ms: what computing the reused tokens would have taken, less the wait for them; null while that is not known.
    blocks_verified: from Redis, each taken after its MAC was checked.
    """

    device: int
    cpu: int
    redis: int
    computed: int
    restore_ms: float
    bytes: TierBytes
    blocks_verified: int
    saved_ms: float | None
    phases_ms: Phases
    reuse: StoredReuse | None = None


class PromptDetails(Answer):
    """cached_tokens: those that came from a tier."""

    cached_tokens: int


class CompletionDetails(Answer):
    """reasoning_tokens: those of the thoughts."""

    reasoning_tokens: int


class Usage(Answer):
    """Of one answer. tokens_per_second: behind the first token."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails | None = None
    kv: KVReceipt
    queue_ms: float
    ttft_ms: float
    total_ms: float
    tokens_per_second: float | None


class Message(Answer):
    """One node of the tree. reasoning: what the model thought before it answered.

    sibling_ids: messages that it could be exchanged for, itself among them, the oldest first.
    """

    id: str
    conversation_id: str
    parent_id: str | None
    role: Role
    content: str
    status: MessageStatus
    created_at: float
    completed_at: float | None
    finish_reason: str | None
    error: ErrorBody | None
    usage: Usage | None
    run_id: str | None
    params: ChatParams | None
    reasoning: str | None
    sibling_ids: list[str] | None = None
    sibling_index: int | None = None


class ConversationWithMessages(Conversation):
    """messages: those on the path that is shown."""

    messages: list[Message]


class Outline(Answer):
    """A message with no more of what it says than its beginning."""

    id: str
    parent_id: str | None
    role: Role
    status: MessageStatus
    preview: str
    created_at: float


class ConversationTree(Answer):
    """Every message of every branch, the oldest first."""

    head_id: str | None
    version: int
    messages: list[Outline]


class RunEvent(Answer):
    """What the data of every event of a run has."""

    sequence_number: int
    run_id: str


class RunOpening(RunEvent):
    """Data of the event `run`: what the turn has made. A run that only goes on has made nothing."""

    conversation: Conversation | None = None
    user_message: Message | None = None
    message: Message


class RunSnapshot(RunEvent):
    """Data of the event `snapshot`: all so far."""

    message: Message


class RunDelta(RunEvent):
    """Data of the event `delta`: what was written since the last one, and what was thought."""

    text: str
    reasoning: str | None = None


class RunDone(RunEvent):
    """Data of the event `done`, which ends the stream."""

    message: Message


class RunError(RunEvent):
    """Data of the event `error`, which ends the stream. The message keeps what was written."""

    error: ErrorBody
    message: Message


class PromptSide(Answer):
    """How one of two prompts goes on where they part. token: null if it ends there."""

    token: int | None
    text: str
    following: str


class Divergence(Answer):
    """Where a prompt parts from the one that shares most with it. other: null if nobody remembers it."""

    at: int
    before: str
    this: PromptSide
    other: PromptSide | None


class ReuseReport(Answer):
    """Why not more of a run's prompt was reused. gone_from: tiers that had the next block once."""

    run_id: str
    message_id: str
    status: MessageStatus
    receipt: KVReceipt | None
    prompt_tokens: int | None
    reusable_tokens: int | None
    reused_until: int | None
    cause: str | None
    explanation: str
    gone_from: list[str]
    diverges: Divergence | None


class Snippet(Answer):
    """Text around what was found. matches: its ranges in the text, in UTF-16 code units."""

    text: str
    matches: list[tuple[int, int]]


class FoundTitle(Answer):
    """A conversation whose title has all words."""

    id: str
    title: str
    archived: bool
    updated_at: float
    snippet: Snippet


class FoundIn(Answer):
    """Where a message was found."""

    id: str
    title: str | None
    archived: bool


class FoundMessage(Answer):
    """A message that has all words."""

    message_id: str
    role: Role
    created_at: float
    conversation: FoundIn
    snippet: Snippet


class Found(Answer):
    """The newest first. next_cursor: of the messages that follow."""

    conversations: list[FoundTitle]
    messages: list[FoundMessage]
    next_cursor: str | None


class Draft(Answer):
    """What is typed and not sent; updated_at: null if nothing ever was."""

    text: str
    updated_at: float | None


class Imported(Answer):
    """Ids of what was taken, and of what was here already."""

    imported: list[str]
    skipped: list[str]


class ChatPlace(Answer):
    """The lowest tier that the next turn has to turn to; null: nothing is kept."""

    conversation_id: str
    place: Tier | None


class Places(Answer):
    """Of those conversations that there are."""

    data: list[ChatPlace]


class Warming(Answer):
    """Whether the KV of a conversation is being brought up."""

    warming: bool


class TokenCount(Answer):
    """The tokens of a text."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: None


class Principal(Answer):
    """Who is logged in, and for what."""

    tenant: str
    scope: Scope
    key_id: str | None


class Login(Answer):
    """Whether the server demands keys, and who this is."""

    demands_keys: bool
    principal: Principal | None


class TierHealth(Answer):
    """One tier in bytes and words."""

    used_bytes: int
    capacity_bytes: int
    state: str


class SamplingDefaults(Answer):
    """What holds where a chat leaves it open, and is not off."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


class ModelHealth(Answer):
    """The one model. thinking: how it can be told to think; empty where it does not."""

    name: str
    dtype: str
    device: str
    max_model_len: int
    sampling: SamplingDefaults
    thinking: list[ThinkingMode]


class TiersHealth(Answer):
    """All three, on or off."""

    device: TierHealth
    cpu: TierHealth
    redis: TierHealth


class Health(Answer):
    """The state of the server. Without a key all fields but the status are null.

    workers: of tensor parallelism, for administrators. unindexed: messages and titles that no search finds yet.
    """

    status: Literal["starting", "ok", "recovering", "degraded", "stopping", "failed"]
    version: str | None
    model: ModelHealth | None
    starting: str | None
    reason: str | None
    tiers: TiersHealth | None
    workers: dict[str, Any] | None
    unindexed: int | None


class RequestCounts(Answer):
    """Requests now; each is in one state."""

    running: int
    waiting: int
    preempted: int
    loading: int
    following: int


class PromptRates(Answer):
    """Tokens of prompts per second, by where they came from; null where no time has passed."""

    device: float | None
    cpu: float | None
    redis: float | None
    computed: float | None


class TierSample(Answer):
    """One tier now; one that is off has its state only. capacity_bytes: 0 for no limit. hit_rate: of the last minute,
    null where nothing was asked. tenants: bytes that the largest tenants hold, by name, and `(others)`; empty for
    Redis."""

    state: str
    used_bytes: int = 0
    capacity_bytes: int = 0
    hit_rate: float | None = None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    evictions_per_second: float | None = None
    tenants: dict[str, int] = Field(default_factory=dict)


class TierSamples(Answer):
    """All three, on or off."""

    device: TierSample
    cpu: TierSample
    redis: TierSample


class LiveSample(Answer):
    """Data of the event `sample`: the whole server in one second. batch_size: requests in a step, on average, null
    where none was made. breaker: of the way to Redis, null where there is none."""

    at: float
    requests: RequestCounts
    batch_size: float | None
    generated_tokens_per_second: float | None
    prompt_tokens_per_second: PromptRates
    breaker: Literal["closed", "open", "half-open"] | None
    tiers: TierSamples
