"""Messages between a gateway and a replica survive the wire."""

import os
from collections import Counter
from pathlib import Path

import pytest

from engine.api.errors import ConflictError, EbbError, InvalidRequestError, OverloadedError, PromptTooLongError
from engine.api.outputs import KnownPrefix, KVReceipt, MissReason, PromptProgress, Reuse, TokenLogprobs, Usage
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.api.urgency import Urgency
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.fleet.placement.order import ReplicaOrder, decode_order, encode_order
from engine.fleet.wire.messages import (
    Answer,
    Beat,
    End,
    Generate,
    Keep,
    Output,
    Recall,
    Refused,
    Release,
    Step,
    decode_down,
    decode_up,
    encode,
)
from engine.fleet.wire.refusals import error_of, refusal_of
from engine.testing.replay_engine import ReplayEngine


def test_request_arrives_as_it_was_sent() -> None:
    params = SamplingParams(
        temperature=0.5,
        stop=("x", "é"),
        stop_token_ids=(3, 4),
        logit_bias=((5, -1.5),),
        seed=(1 << 63) - 1,
        form=StructuredOutput("json", "{}", "response_format"),
    )
    urgency, promise = Urgency(timeout=3.5), PromiseRequest(64, 300.0, 1 << 30)
    call = Generate(1, [2, 3], (5, 6), params, "req", "bob", urgency, (7,), False, 4, promise, True, 0.5)
    assert decode_down(encode(call)) == call


def test_promises_of_prefixes_arrive_as_they_were_sent() -> None:
    keep = Keep(1, [5, 6], PromiseRequest(2, 300.0, 1 << 30), "bob", 0.5)
    for call in (keep, Release(2, [5, 6], 1, "bob"), Recall(3, [5, 6], [(0, 2)], "bob")):
        assert decode_down(encode(call)) == call
    answer = Answer(1, PromiseReport(64, 64, 300.0, 1e9, "reservation_full"))
    assert decode_up(encode(answer)) == answer


def test_order_keeps_paths_that_are_no_text() -> None:
    config = EngineConfig(
        model=ModelConfig(path=Path(os.fsdecode(b"/models/\xff")), name="fake"),
        cache=CacheConfig(tiers=None, secret=b""),
        device=DeviceConfig(cache_dir=Path("/cache/\u00e4")),
    )
    order = ReplicaOrder(config, 0, 1, b"", 0, (), "", 0, 0.005)
    assert decode_order(encode_order(order)) == order


def test_outputs_arrive_as_they_were_sent() -> None:
    receipt = KVReceipt(
        reused=Counter({"device": 64, "redis": 3}),
        computed=2,
        prefetched=Counter({"redis": 3}),
        promise=PromiseReport(64, 64, 300.0, 1e9, "reservation_full"),
    )
    reuse = Reuse(64, KnownPrefix(66, (1, 2)), MissReason("evicted", "they are gone", ("device",)))
    usage = Usage(
        prompt_tokens=69, completion_tokens=2, kv=receipt, queue_ms=0.5, ttft_ms=1.5, total_ms=2.5, reuse=reuse
    )
    probabilities = (TokenLogprobs(7, -0.5, ((7, -0.5), (8, -1.0))),)
    step = Step(
        [
            Output(0, 0, (7, 8), " w7 w8", logprobs=probabilities, cached=64),
            Output(0, 0, (), "", progress=(PromptProgress(9, 4, Counter({"redis": 3}), "loading", 0.5, 1.5),)),
            Output(1, 4, (), "", "thought", End("error", usage, "It broke.", 3, "schema", None)),
        ]
    )
    again = decode_up(encode(step))
    assert again == step
    assert isinstance(again, Step)
    end = again.outputs[-1].end
    assert end is not None
    assert end.usage is not None
    # A Counter counts 0 for a tier that it lacks, and a dict would not.
    assert end.usage.kv.reused["cpu"] == 0


def test_statistics_arrive_as_they_were_sent() -> None:
    beat = Beat(ReplayEngine().stats())
    assert decode_up(encode(beat)) == beat


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequestError("No.", param="temperature"),
        ConflictError("No.", code="head_moved"),
        OverloadedError("Wait.", retry_after=7, code="queue_full"),
        PromptTooLongError("Too long.", param="prompt", num_tokens=None, maximum=100),
        PromptTooLongError("Too long.", param="prompt", num_tokens=120, maximum=100),
    ],
)
def test_refusals_are_raised_as_the_replica_raised_them(error: EbbError) -> None:
    refused = decode_up(encode(refusal_of(3, error)))
    assert isinstance(refused, Refused)
    again = error_of(refused)
    assert type(again) is type(error)
    assert (again.message, again.param, again.code) == (error.message, error.param, error.code)
    for name in ("retry_after", "num_tokens", "maximum"):
        assert getattr(again, name, None) == getattr(error, name, None)
