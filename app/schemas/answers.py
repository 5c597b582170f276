"""Response bodies of the routes under /api, as GET /openapi.json describes them and the page reads them.

No response is built from these models at run time: records serialize themselves. A test compares the responses of every
route with these models, field by field. Times are Unix seconds, durations milliseconds, counts tokens.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from models.thinking import ThinkingMode


class ResponseModel(BaseModel):
    """A JSON object with these fields and no others. Fields with a default may be missing."""

    model_config = ConfigDict(extra="forbid")


class TierHealth(ResponseModel):
    """Usage of one tier, and its state in words."""

    used_bytes: int
    capacity_bytes: int
    state: str


class SamplingDefaults(ResponseModel):
    """The model's sampling defaults, which apply where a chat sets no value. A default that is off is left out."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


class ModelHealth(ResponseModel):
    """The served model.

    thinking: thinking modes that the model supports; empty if it cannot think.
    """

    name: str
    dtype: str
    device: str
    max_model_len: int
    sampling: SamplingDefaults
    thinking: list[ThinkingMode]


class TiersHealth(ResponseModel):
    """All three tiers, whether on or off."""

    device: TierHealth
    cpu: TierHealth
    redis: TierHealth


class Health(ResponseModel):
    """The state of the server. Without a key, all fields except `status` are null.

    workers: state of the tensor-parallel workers, for administrators.
    unindexed: number of messages and titles that the search does not cover yet.
    """

    status: Literal["starting", "ok", "recovering", "degraded", "stopping", "failed"]
    version: str | None
    model: ModelHealth | None
    starting: str | None
    reason: str | None
    tiers: TiersHealth | None
    workers: dict[str, Any] | None
    unindexed: int | None


class RequestCounts(ResponseModel):
    """Current number of requests in each state. A request is in exactly one state."""

    running: int
    waiting: int
    preempted: int
    loading: int
    following: int


class PromptRates(ResponseModel):
    """Prompt tokens per second by the source of their KV. Null if no time has passed."""

    device: float | None
    cpu: float | None
    redis: float | None
    computed: float | None


class TierSample(ResponseModel):
    """Current figures of one tier. A tier that is off has only its state.

    capacity_bytes: 0 for no limit.
    hit_rate: over the last minute; null if nothing was looked up.
    tenants: bytes held by the largest tenants, by name, and by `(others)`; empty for Redis.
    """

    state: str
    used_bytes: int = 0
    capacity_bytes: int = 0
    hit_rate: float | None = None
    bytes_in_per_second: float | None = None
    bytes_out_per_second: float | None = None
    evictions_per_second: float | None = None
    tenants: dict[str, int] = Field(default_factory=dict)


class TierSamples(ResponseModel):
    """All three tiers, whether on or off."""

    device: TierSample
    cpu: TierSample
    redis: TierSample


class LiveSample(ResponseModel):
    """Data of the event `sample`: figures of the whole server, for one second.

    batch_size: average number of requests in a step; null if there was no step.
    breaker: state of the circuit breaker in front of Redis; null without Redis.
    """

    at: float
    requests: RequestCounts
    batch_size: float | None
    generated_tokens_per_second: float | None
    prompt_tokens_per_second: PromptRates
    breaker: Literal["closed", "open", "half-open"] | None
    tiers: TierSamples
