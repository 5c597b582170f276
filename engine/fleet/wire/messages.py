"""Messages between a gateway and one replica, encoded as MessagePack.

    replica                                   gateway
    Challenge                 ───────────>
                              <───────────    Hello: the epoch, with a proof
    Welcome: its own proof    ───────────>
    Note, LogLine ...         ───────────>
    Ready, or Failed          ───────────>
                              <───────────    calls: Generate, Warm, Places, Keep, Release,
                                              Recall, Erase, LoadAdapter, UnloadAdapter
    Accepted, Answer, Refused ───────────>
                              <───────────    Abort, Leave, AdoptDeletion, AdoptDeletions, Drain,
                                              Here, Farewell
    Step, Placed, Beat,
    Report, Draining          ───────────>

Streams have numbers, which the gateway assigns. Calls have numbers too, and are answered in any order.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any, get_origin

from msgspec import Struct, msgpack

from cache_tiers.owners.block_key import BlockKey, KeyNamespace
from cache_tiers.tier import TierId
from engine.api.outputs import FinishReason, PromptProgress, TokenLogprobs, Usage
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency
from engine.fleet.wire.report import Report
from engine.loop.stats import EngineStats
from models.adapters.adapter import Adapter


class Challenge(Struct, tag=True, frozen=True):
    """The replica's first message. nonce: random bytes for the gateway's proof."""

    nonce: bytes


class Hello(Struct, tag=True, frozen=True):
    """The gateway's first message: the epoch that it expects, and its proof that it knows the token."""

    epoch: int
    nonce: bytes
    proof: bytes


class Welcome(Struct, tag=True, frozen=True):
    """The replica's proof that it knows the token."""

    proof: bytes


class Note(Struct, tag=True, frozen=True):
    """A sentence about the current step of the startup."""

    sentence: str


class LogLine(Struct, tag=True, frozen=True):
    """A record of the replica's log, which the gateway writes."""

    name: str
    level: int
    text: str


class ReplicaFacts(Struct, frozen=True):
    """Properties of a replica's engine. All but `max_model_len` must be equal on all replicas."""

    kv_fingerprint: str
    model_window: int
    """Tokens of prompt and answer together that the model allows."""
    tier_notes: dict[TierId, str]
    namespace: KeyNamespace
    """Namespace of block keys, without a tenant's salt. The gateway derives the salts itself."""
    max_model_len: int
    """Tokens of prompt and answer together that the memory of this replica has room for, within the model's window."""
    public_ids: tuple[int, ...] = ()
    """Token ids of the public prefix."""
    adapters: tuple[Adapter, ...] = ()


class Ready(Struct, tag=True, frozen=True):
    """The replica's engine serves from now on."""

    facts: ReplicaFacts
    stats: EngineStats


class Failed(Struct, tag=True, frozen=True):
    """The replica's engine could not be built, for a reason that a restart does not remove."""

    sentence: str


class Generate(Struct, tag=True, frozen=True):
    """Call: queue a request. The fields are those of `GenerateRequest`."""

    call: int
    streams: list[int]
    """Number of the stream of each answer."""
    prompt_token_ids: tuple[int, ...]
    params: SamplingParams
    request_id: str | None
    tenant: str
    urgency: Urgency
    produced: tuple[int, ...]
    keep_kv: bool
    num_marked: int
    promise: PromiseRequest | None = None
    hands_over: bool = False
    progress_every: float | None = None
    is_stored: bool = True
    adapter: str = ""


class Abort(Struct, tag=True, frozen=True):
    """End a stream, or the call that would begin the stream."""

    stream: int


class Warm(Struct, tag=True, frozen=True):
    """Call of `PrefixTiers.warm`."""

    call: int
    name: str
    token_ids: list[int]
    tenant: str


class Leave(Struct, tag=True, frozen=True):
    """Cancel a prefetch hint."""

    name: str


class Places(Struct, tag=True, frozen=True):
    """Call of `PrefixTiers.places`."""

    call: int
    prefixes: list[list[int]]
    tenant: str


class Keep(Struct, tag=True, frozen=True):
    """Call of `PrefixTiers.promise`."""

    call: int
    token_ids: list[int]
    wanted: PromiseRequest
    tenant: str
    patience: float


class Release(Struct, tag=True, frozen=True):
    """Call of `PrefixTiers.release`."""

    call: int
    token_ids: list[int]
    num_shared: int
    tenant: str


class Recall(Struct, tag=True, frozen=True):
    """Call of `PrefixTiers.recall`."""

    call: int
    token_ids: list[int]
    spans: list[tuple[int, int]]
    tenant: str


class Erase(Struct, tag=True, frozen=True):
    """Call of `Backend.erase`."""

    call: int
    keys: list[BlockKey]
    again: bool


class LoadAdapter(Struct, tag=True, frozen=True):
    """Call of `AsyncLLMEngine.load_adapter`, which may replace one of the same name."""

    call: int
    name: str


class UnloadAdapter(Struct, tag=True, frozen=True):
    """Call of `AsyncLLMEngine.unload_adapter`."""

    call: int
    name: str


class AdoptDeletion(Struct, tag=True, frozen=True):
    """End a deleted tenant's requests, and use the salt of its number of deletions."""

    tenant: str
    generation: int


class AdoptDeletions(Struct, tag=True, frozen=True):
    """Take over the record of deleted tenants (`TenantSalts`). Sent before the first call."""

    generations: dict[str, int]


class Drain(Struct, tag=True, frozen=True):
    """Refuse new requests, let running ones end within `seconds`, flush the tiers, and end the process."""

    seconds: float
    patience: float = 0.0
    """Seconds beyond the usual ones in which the lower tiers may receive the blocks."""


class Here(Struct, tag=True, frozen=True):
    """A sign of life of the gateway."""


class Farewell(Struct, tag=True, frozen=True):
    """The gateway leaves for good: a shared replica ends if it has no other one."""


class Begun(Struct, frozen=True, array_like=True):
    """A stream that has begun, with the properties of `GenerationStream`."""

    params: SamplingParams
    text_before: str
    reasoning_before: str


class Accepted(Struct, tag=True, frozen=True):
    """The answer to Generate: the request is queued."""

    call: int
    streams: list[Begun]


class Answer(Struct, tag=True, frozen=True):
    """The answer to any other call."""

    call: int
    result: bool | list[TierId | None] | PromiseReport | None = None
    adapter: Adapter | None = None
    """The adapter, in the answer to LoadAdapter; else None."""


class Refused(Struct, tag=True, frozen=True):
    """The answer to a call that raised an EbbError."""

    call: int
    kind: str
    """Name of the error's class."""
    message: str
    code: str
    param: str | None = None
    retry_after: int = 0
    num_tokens: int | None = None
    maximum: int = 0


class End(Struct, frozen=True, array_like=True):
    """The end of a stream, with the fields of `RequestOutput`."""

    finish_reason: FinishReason
    usage: Usage | None
    error: str | None
    retry_after: int | None
    error_path: str | None
    stop_string: str | None


class Output(Struct, frozen=True, array_like=True):
    """One output of one stream, with the fields of `RequestOutput`.

    at: number of the answer's tokens before this output, including those that the request came with.
    """

    stream: int
    at: int
    token_ids: tuple[int, ...]
    text: str
    reasoning: str = ""
    end: End | None = None
    logprobs: tuple[TokenLogprobs, ...] = ()
    prompt_logprobs: tuple[TokenLogprobs, ...] = ()
    embedding: bytes | None = None
    cached: int | None = None
    progress: tuple[PromptProgress, ...] = ()


class Step(Struct, tag=True, frozen=True):
    """The outputs of one step, of all streams."""

    outputs: list[Output]


class Placed(Struct, tag=True, frozen=True):
    """The stream's request has its place in the batch. Sent before the step is computed."""

    stream: int


class Beat(Struct, tag=True, frozen=True):
    """A sign of life, with the engine's statistics once the engine serves."""

    stats: EngineStats | None


class Draining(Struct, tag=True, frozen=True):
    """A shared replica gets no more work, since one of its gateways drains it. The answers continue elsewhere."""


PrefixCall = Warm | Places | Keep | Release | Recall | Erase
AdapterCall = LoadAdapter | UnloadAdapter
Call = Generate | PrefixCall | AdapterCall
Down = Hello | Call | Abort | Leave | AdoptDeletion | AdoptDeletions | Drain | Here | Farewell
Up = (
    Challenge | Welcome | Note | LogLine | Ready | Failed | Accepted | Answer | Refused | Step | Placed | Beat | Report
    | Draining
)  # fmt: skip


def _plain(value: object) -> object:
    """Return a path as bytes, which may be no text."""
    if isinstance(value, Path):
        return os.fsencode(value)
    raise NotImplementedError(f"{type(value).__name__} has no form on the wire")


def restored(type_: Any, value: Any) -> object:
    """Return the value of a type that MessagePack does not have."""
    if get_origin(type_) is Counter or type_ is Counter:
        return Counter(value)
    if issubclass(type_, Path):
        return Path(os.fsdecode(value))
    raise NotImplementedError(f"{type_} has no form on the wire")


encode = msgpack.Encoder(enc_hook=_plain).encode
decode_down = msgpack.Decoder(Down, dec_hook=restored).decode
decode_up = msgpack.Decoder(Up, dec_hook=restored).decode
