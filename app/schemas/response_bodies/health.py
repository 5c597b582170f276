"""Response bodies of /health and /ready."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from app.host.engine_host import Status
from app.schemas.response_bodies.by_tier import ByTier
from app.schemas.response_bodies.described_as import DescribedAs
from cache_tiers.tier import TierId
from models.thinking import ThinkingMode


class TierHealth(TypedDict):
    """Usage of one tier, and its state in words."""

    used_bytes: int
    capacity_bytes: int
    state: str


class SamplingDefaults(TypedDict):
    """The model's sampling defaults, which apply where a chat sets no value. A default that is off is left out."""

    temperature: NotRequired[Annotated[float | None, Field(default=None)]]
    top_p: NotRequired[Annotated[float | None, Field(default=None)]]
    top_k: NotRequired[Annotated[int | None, Field(default=None)]]


class ModelHealth(TypedDict):
    """The served model.

    device_note: reason why the machine's accelerator does not compute, in a sentence.
    thinking: thinking modes that the model supports; empty if it cannot think.
    """

    name: str
    dtype: str
    device: str
    device_note: str | None
    max_model_len: int
    sampling: Annotated[Mapping[str, float], DescribedAs(SamplingDefaults)]
    thinking: list[ThinkingMode]


class ReplicaHealth(TypedDict):
    """One replica of the engine.

    epoch: number of its newest start, counted over all replicas.
    machine: name of the machine where it runs, or ran last; null before its first start.
    pid: process id there; null while there is no process.
    answers: answers that it computes.
    restarts: restarts so far.
    last_loss: cause of its last loss, as a sentence.
    role: part of the answers that it computes.
    prefilled_tokens: prompt tokens that its process has computed.
    serves_as: part of the answers that it computes now: both while no replica of the other role serves.
    """

    index: int
    state: Literal["starting", "ok", "failed"]
    epoch: int
    machine: str | None
    pid: int | None
    answers: int
    restarts: int
    last_loss: str | None
    role: Literal["both", "prefill", "decode"]
    prefilled_tokens: int
    serves_as: Literal["both", "prefill", "decode"]


class Health(TypedDict):
    """The state of the server. Without a key, all fields except `status` are null.

    models: names of the models of a server that has several; null for one.
    reason_code: error code of requests that `reason` refuses, where the page describes it; null otherwise.
    workers: state of the tensor-parallel workers, for administrators.
    replicas: state of the replicas of the engine, for administrators; null if the engine is in the server's process.
    unindexed: number of messages and titles that the search does not cover yet.
    suggested_model: name of a better model that suits the machine, for administrators of a server with the default one.
    """

    status: Status
    version: str | None
    model: ModelHealth | None
    models: list[str] | None
    starting: str | None
    reason: str | None
    reason_code: str | None
    tiers: (
        Annotated[Mapping[TierId, TierHealth], ByTier("TiersHealth", TierHealth, "All tiers, whether on or off.")]
        | None
    )
    workers: dict[str, Any] | None
    replicas: list[ReplicaHealth] | None
    unindexed: int | None
    suggested_model: str | None
