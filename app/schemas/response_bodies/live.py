"""Data of the events of /api/live."""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from app.schemas.response_bodies.by_tier import ByTier
from app.schemas.response_bodies.described_as import DescribedAs
from cache_tiers.tier import TierId


class RequestCounts(TypedDict):
    """Current number of requests in each state. A request is in exactly one state."""

    running: int
    waiting: int
    preempted: int
    loading: int
    following: int


class ComputedRate(TypedDict):
    """Prompt tokens per second whose KV was computed."""

    computed: float | None


class TierPlan(TypedDict):
    """Predicted hits of one tier at other sizes, over the last hours. Recent requests count more.

    setting: name of the setting that bounds the tier.
    counted_tokens: prompt tokens on which the figures are based.
    needed_tokens: counted tokens below which nothing is advised.
    sizes: sizes in bytes, from a quarter to eight times the size of today.
    hit_rates: part of the prompts' tokens that this tier, or one above it, would have at each size.
    current_bytes, current_hit_rate: the size of today, and its hit rate.
    advice: `unknown` if too few tokens were counted, `keep` if no other size is better, `shrink` if half of the size
        would find the same, `grow` if a larger size would find more.
    advised_bytes: for `shrink`, half of the size. For `grow`, the smallest size that brings almost all that more memory
        can bring.
    advised_hit_rate: the hit rate at that size.
    saved_seconds_per_day: time of computing that a larger size would save, within a day like the last hours; 0 if
        tiers below have almost all of these tokens today, null if it is not known.
    tenants: hit rates of the largest tenants, by name, and of `(others)`.
    """

    setting: str
    counted_tokens: int
    needed_tokens: int
    sizes: list[int]
    hit_rates: list[float]
    current_bytes: int
    current_hit_rate: float
    advice: Literal["unknown", "keep", "shrink", "grow"]
    advised_bytes: int | None
    advised_hit_rate: float | None
    saved_seconds_per_day: float | None
    tenants: dict[str, list[float]]


class TierSample(TypedDict):
    """Current figures of one tier. A tier that is off has only its state.

    capacity_bytes: 0 for no limit.
    hit_rate: over the last minute; null if nothing was looked up.
    tenants: bytes held by the largest tenants, by name, and by `(others)`; empty for tiers below CPU memory.
    plan: null until prompts were looked up, and for a tier whose size is unknown.
    """

    state: str
    used_bytes: NotRequired[Annotated[int, Field(default=0)]]
    capacity_bytes: NotRequired[Annotated[int, Field(default=0)]]
    hit_rate: NotRequired[Annotated[float | None, Field(default=None)]]
    bytes_in_per_second: NotRequired[Annotated[float | None, Field(default=None)]]
    bytes_out_per_second: NotRequired[Annotated[float | None, Field(default=None)]]
    evictions_per_second: NotRequired[Annotated[float | None, Field(default=None)]]
    tenants: NotRequired[Annotated[dict[str, int], Field(default_factory=dict)]]
    plan: NotRequired[Annotated[TierPlan | None, Field(default=None)]]


class ReplicaSample(TypedDict):
    """Current figures of one replica of the engine.

    answers: answers that it computes.
    """

    index: int
    state: Literal["starting", "ok", "failed"]
    answers: int
    restarts: int


class RouteSample(TypedDict):
    """Requests that were sent to replicas.

    reasons: per second, by the reason for the choice; null if no time has passed.
    takeovers: answers that another replica continued, since the start.
    predicted_seconds: mean time to the first token as predicted, over the last minute; null without requests.
    seen_seconds: the same as it was.
    """

    reasons: dict[str, float | None]
    takeovers: int
    predicted_seconds: float | None
    seen_seconds: float | None


class SampleTime(TypedDict):
    """Time of a sample."""

    at: float


class LiveFigures(TypedDict):
    """Figures of the whole server, for one second."""

    requests: Annotated[Mapping[str, int], DescribedAs(RequestCounts)]
    batch_size: float | None
    generated_tokens_per_second: float | None
    prompt_tokens_per_second: Annotated[
        Mapping[str, float | None],
        ByTier(
            "PromptRates",
            float | None,
            "Prompt tokens per second by the source of their KV. Null if no time has passed.",
            ComputedRate,
        ),
    ]
    breaker: Literal["closed", "open", "half-open"] | None
    tiers: Annotated[Mapping[TierId, TierSample], ByTier("TierSamples", TierSample, "All tiers, whether on or off.")]
    replicas: list[ReplicaSample]
    routes: RouteSample | None


class LiveSample(SampleTime, LiveFigures):
    """Data of the event `sample`: figures of the whole server, for one second.

    batch_size: average number of requests in a step; null if there was no step.
    breaker: state of the circuit breakers in front of the tiers below CPU memory; null if there is none.
    replicas: empty if the engine is in the server's process. Then routes is null.
    """
