import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest

from cache_tiers.owners.block_key import BlockKey, KeyNamespace, block_key, extend_keys
from engine.api.errors import InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.stored_tokens import AnsweredText, Trail
from engine.api.urgency import Urgency
from engine.intake import prefix_keys
from engine.intake.prefix_keys import TenantSalts
from engine.intake.processor import ModelLimits, Processor

LIMITS = ModelLimits(vocab_size=100, window=64, pool_tokens=48, block_size=4, eos_token_ids=(2, 3))
SPACE = KeyNamespace(
    model_fingerprint="m",
    numerics="n",
    kv_dtype="bfloat16",
    block_size=4,
    layout_version=1,
    tp_rank=0,
    tp_size=1,
    tenant_salt=b"",
)


@pytest.fixture
def processor() -> Processor:
    return Processor(LIMITS, SPACE, TenantSalts(b"secret"), prefix_cache=True, clock=time.monotonic)


@pytest.mark.parametrize(
    ("params", "field"),
    [
        (SamplingParams(temperature=-0.1), "temperature"),
        (SamplingParams(temperature=1_000_001.0), "temperature"),
        (SamplingParams(temperature=float("nan")), "temperature"),
        (SamplingParams(top_p=0.0), "top_p"),
        (SamplingParams(top_p=1.1), "top_p"),
        (SamplingParams(top_k=-1), "top_k"),
        (SamplingParams(seed=1 << 64), "seed"),
        (SamplingParams(max_tokens=-1), "max_tokens"),
        (SamplingParams(min_tokens=-1), "min_tokens"),
        (SamplingParams(min_tokens=9, max_tokens=8), "min_tokens"),
        (SamplingParams(min_tokens=46, max_tokens=1000), "min_tokens"),
        (SamplingParams(stop=("x",) * 129), "stop"),
        (SamplingParams(min_p=float("nan")), "min_p"),
        (SamplingParams(repetition_penalty=0.0), "repetition_penalty"),
        (SamplingParams(presence_penalty=2.1), "presence_penalty"),
        (SamplingParams(frequency_penalty=float("inf")), "frequency_penalty"),
        (SamplingParams(logit_bias=((1, 101.0),)), "logit_bias"),
        (SamplingParams(logit_bias=((100, 1.0),)), "logit_bias"),
        (SamplingParams(allowed_token_ids=(100,)), "allowed_token_ids"),
        (SamplingParams(allowed_token_ids=(2, 5), stop_token_ids=(5,), min_tokens=1), "allowed_token_ids"),
        (SamplingParams(stop_token_ids=(-1,)), "stop_token_ids"),
        (SamplingParams(bad_words=("",)), "bad_words"),
        (SamplingParams(stop=("",)), "stop"),
    ],
)
def test_invalid_sampling_parameter_is_rejected_by_name(
    processor: Processor, params: SamplingParams, field: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        processor.process("r", GenerateRequest(prompt_token_ids=[1, 2, 5], params=params, tenant="local"))
    assert caught.value.param == field
    assert field in caught.value.message


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ([], "empty"),
        ([1, 100], "vocabulary"),
        ([-1], "vocabulary"),
        ([1] * 64, "context length is 64"),
        ([1] * 48, "holds 48"),
    ],
)
def test_invalid_prompt_is_rejected_with_the_limits(processor: Processor, prompt: list[int], says: str) -> None:
    with pytest.raises(InvalidRequestError, match=says) as caught:
        processor.process("r", GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(), tenant="local"))
    assert caught.value.param == "prompt"


@pytest.mark.parametrize("limit", [38, 39, 54, 55, 1 << 31])
def test_limit_beyond_the_room_is_the_room(processor: Processor, limit: int) -> None:
    request = processor.process(
        "r", GenerateRequest(prompt_token_ids=[1] * 10, params=SamplingParams(max_tokens=limit), tenant="local")
    )
    assert request.sampling.max_tokens == 38


def test_answer_without_a_limit_gets_the_servers(processor: Processor) -> None:
    processor.limits = replace(LIMITS, answer=20)
    given = {limit: SamplingParams(max_tokens=limit) for limit in (None, 30)}
    assert {
        limit: processor.process(
            "r", GenerateRequest(prompt_token_ids=[1] * 10, params=params, tenant="local")
        ).sampling.max_tokens
        for limit, params in given.items()
    } == {None: 20, 30: 30}
    processor.limits = replace(LIMITS, answer=50)
    sampling = processor.process(
        "r", GenerateRequest(prompt_token_ids=[1] * 10, params=SamplingParams(), tenant="local")
    ).sampling
    assert sampling.max_tokens == 38


def test_large_limit_fills_window_despite_servers_limit(processor: Processor) -> None:
    processor.limits = replace(LIMITS, answer=20)
    for limit, resolved in ((None, 20), (30, 30), (1000, 38)):
        request = GenerateRequest(prompt_token_ids=[1] * 10, params=SamplingParams(max_tokens=limit))
        assert processor.process("r", request).sampling.max_tokens == resolved


def test_unset_parameters_are_resolved(processor: Processor) -> None:
    sampling = processor.process(
        "r", GenerateRequest(prompt_token_ids=[1] * 10, params=SamplingParams(), tenant="local")
    ).sampling
    assert sampling.max_tokens == 38
    assert sampling.seed is not None
    assert sampling.ending_ids == (2, 3)


def test_ignore_eos_leaves_no_stop_token(processor: Processor) -> None:
    assert (
        processor.process(
            "r", GenerateRequest(prompt_token_ids=[1], params=SamplingParams(ignore_eos=True), tenant="local")
        ).sampling.ending_ids
        == ()
    )


def test_deadlines_count_from_arrival() -> None:
    processor = Processor(
        LIMITS, SPACE, TenantSalts(b"secret"), prefix_cache=True, clock=lambda: 100.0, queue_timeout=5.0
    )
    request = processor.process(
        "r",
        GenerateRequest(
            prompt_token_ids=[1], params=SamplingParams(), tenant="local", urgency=Urgency(priority=-2, timeout=1.5)
        ),
    )
    assert (request.arrival, request.deadline, request.start_by, request.priority) == (100.0, 101.5, 105.0, -2)
    assert (
        processor.process("r", GenerateRequest(prompt_token_ids=[1], params=SamplingParams(), tenant="local")).deadline
        == inf
    )


@pytest.mark.parametrize(("urgency", "field"), [(Urgency(timeout=0.0), "timeout"), (Urgency(priority=1), "priority")])
def test_invalid_urgency_is_rejected_by_name(urgency: Urgency, field: str) -> None:
    in_order = Processor(
        LIMITS, SPACE, TenantSalts(b"secret"), prefix_cache=True, clock=time.monotonic, queue_policy="fcfs"
    )
    with pytest.raises(InvalidRequestError) as caught:
        in_order.process(
            "r", GenerateRequest(prompt_token_ids=[1], params=SamplingParams(), tenant="local", urgency=urgency)
        )
    assert caught.value.param == field


def test_tenants_share_no_key_and_keep_their_own(processor: Processor) -> None:
    one, other, again = (
        processor.process(
            "r", GenerateRequest(prompt_token_ids=range(8), params=SamplingParams(), tenant=tenant)
        ).block_keys
        for tenant in ("a", "b", "a")
    )
    assert not set(one) & set(other)
    assert one == again


def test_different_secret_gives_different_keys(processor: Processor) -> None:
    stranger = Processor(LIMITS, SPACE, TenantSalts(b"another"), prefix_cache=True, clock=time.monotonic)
    assert (
        stranger.process(
            "r", GenerateRequest(prompt_token_ids=range(8), params=SamplingParams(), tenant="a")
        ).block_keys
        != processor.process(
            "r", GenerateRequest(prompt_token_ids=range(8), params=SamplingParams(), tenant="a")
        ).block_keys
    )


def test_answer_has_keys_that_its_erasure_names(processor: Processor) -> None:
    ids, spans = list(range(14)), [(2, 9), (9, 11), (12, 14)]
    first, within, last = processor.keys.of_answers(AnsweredText(ids, spans), "a")
    full = processor.keys.of(ids, "a")
    assert first == {*full[:2]}
    assert within == {block_key(full[1], ids[8:10])}
    assert last == {block_key(full[2], ids[12:13])}
    erased = {*processor.keys.of_trails([Trail(ids, ends=(8, 10, 13))], "a")}
    assert erased >= first | within | last


def test_keys_of_trail_start_after_its_shared_prefix(processor: Processor) -> None:
    ids = list(range(14))
    request = processor.process("r", GenerateRequest(prompt_token_ids=ids, params=SamplingParams(), tenant="a"))

    def partial(end: int) -> BlockKey:
        return block_key(request.key_before(end // 4), ids[end // 4 * 4 : end])

    alone = processor.keys.of_trails([Trail(ids, ends=(3, 8, 14))], "a")
    assert alone == [*request.block_keys, partial(3), partial(14)]
    # The second block shares three tokens: the block is erased, but not another request's partial block of these three.
    assert processor.keys.of_trails([Trail(ids, 7, (3, 6, 7, 13))], "a") == [*request.block_keys[1:], partial(13)]
    assert processor.keys.of_trails([Trail(ids, 14, (3, 14))], "a") == request.block_keys[3:]
    assert not set(alone) & set(processor.keys.of_trails([Trail(ids, ends=(3, 14))], "b"))


PUBLIC = list(range(50, 60))
"""A public prefix of two full blocks and two tokens."""


@pytest.fixture
def with_public() -> Processor:
    return Processor(LIMITS, SPACE, TenantSalts(b"secret"), prefix_cache=True, clock=time.monotonic, public=PUBLIC)


def keys_of(processor: Processor, ids: list[int], tenant: str) -> list[BlockKey]:
    return processor.process(
        "r", GenerateRequest(prompt_token_ids=ids, params=SamplingParams(), tenant=tenant)
    ).block_keys


def test_tenants_share_only_full_blocks_of_public_prefix(with_public: Processor) -> None:
    prompt = [*PUBLIC, *range(10)]
    one, other = keys_of(with_public, prompt, "a"), keys_of(with_public, prompt, "b")
    assert (len(one), one[:2]) == (5, other[:2])
    assert not set(one[2:]) & set(other)
    assert keys_of(with_public, [*PUBLIC, *range(10)], "a") == one
    assert keys_of(with_public, PUBLIC, "c") == one[:2]


@pytest.mark.parametrize("length", [4, 8, 9])
def test_part_of_public_prefix_is_not_shared(with_public: Processor, length: int) -> None:
    prompt = [*PUBLIC[:length], *range(12)]
    public = keys_of(with_public, PUBLIC, "a")
    one, other = keys_of(with_public, prompt, "a"), keys_of(with_public, prompt, "b")
    assert not {*one, *public} & set(other)
    assert not set(one) & set(public)


def test_parent_key_after_public_prefix_belongs_to_tenant(with_public: Processor) -> None:
    ids = [*PUBLIC, *range(10)]
    one, other = (
        with_public.process("r", GenerateRequest(prompt_token_ids=ids, params=SamplingParams(), tenant=tenant))
        for tenant in ("a", "b")
    )
    assert [one.key_before(index) == other.key_before(index) for index in range(6)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    for index, key in enumerate(one.block_keys):
        assert key == block_key(one.key_before(index), ids[index * 4 : index * 4 + 4])


@pytest.mark.parametrize(
    ("ids", "num_marked", "marked"),
    [
        (list(range(10)), 0, range(0)),
        (list(range(10)), 5, range(1)),
        (list(range(10)), 9, range(2)),
        (list(range(10)), 10, range(3)),
        ([*PUBLIC, *range(10)], 16, range(2, 4)),
        ([*PUBLIC, *range(10)], 3, range(2, 0)),
    ],
)
def test_marks_cover_own_blocks_and_answer_of_a_whole_prompt(
    with_public: Processor, ids: list[int], num_marked: int, marked: range
) -> None:
    request = with_public.process(
        "r", GenerateRequest(prompt_token_ids=ids, params=SamplingParams(), num_marked=num_marked)
    )
    for token_id in (1, 2):
        request.append_token(token_id)
    assert request.marked_blocks(4) == with_public.renew(request, 2).marked_blocks(4) == marked
    assert with_public.fork(request, "s", 1).num_marked == num_marked


def test_nothing_is_shared_without_public_prefix_or_reuse(processor: Processor) -> None:
    assert not set(keys_of(processor, PUBLIC, "a")) & set(keys_of(processor, PUBLIC, "b"))
    off = Processor(LIMITS, SPACE, TenantSalts(b"secret"), prefix_cache=False, clock=time.monotonic, public=PUBLIC)
    request = off.process("r", GenerateRequest(prompt_token_ids=PUBLIC, params=SamplingParams(), tenant="a"))
    assert (request.block_keys, request.public) == ([], None)


def test_keys_of_trail_leave_out_public_prefix(with_public: Processor) -> None:
    ids = [*PUBLIC, *range(10)]
    request = with_public.process("r", GenerateRequest(prompt_token_ids=ids, params=SamplingParams(), tenant="a"))

    def partial(end: int) -> BlockKey:
        return block_key(request.key_before(end // 4), ids[end // 4 * 4 : end])

    trail = Trail(ids, ends=(6, 11, 18))
    assert with_public.keys.of_trails([trail], "a") == [*request.block_keys[2:], partial(11), partial(18)]


@pytest.mark.parametrize("has_public", [False, True])
@pytest.mark.parametrize("length", [7, 16, 18, 30])
def test_prepared_prompt_is_not_hashed_again(
    has_public: bool, length: int, processor: Processor, with_public: Processor, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = with_public if has_public else processor
    prompt, produced = [*range(10, 10 + length)], [5, 6, 7, 8, 9]
    expected = made.process(
        "r",
        GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(max_tokens=9), tenant="a", produced=produced),
    )
    hashed = list[int]()

    def count(parent: BlockKey, token_ids: Sequence[int], block_size: int) -> list[BlockKey]:
        hashed.append(len(token_ids))
        return extend_keys(parent, token_ids, block_size)

    made.prepare(GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(), tenant="a"))
    monkeypatch.setattr(prefix_keys, "extend_keys", count)
    request = made.process(
        "r",
        GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(max_tokens=9), tenant="a", produced=produced),
    )
    assert request.block_keys == expected.block_keys
    assert sum(hashed) < len(produced) + 2 * LIMITS.block_size
    other = made.process("r", GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(max_tokens=9), tenant="b"))
    assert other.block_keys == made.keys_of_prefix(prompt, "b")
    assert not set(other.block_keys[len(made.keys.public.keys) if made.keys.public else 0 :]) & set(request.block_keys)


def test_prepare_rejects_invalid_prompt(processor: Processor) -> None:
    with pytest.raises(InvalidRequestError, match="vocabulary"):
        processor.prepare(GenerateRequest(prompt_token_ids=[1, 100], params=SamplingParams()))


def test_window_that_clients_see_fits_in_memory() -> None:
    assert LIMITS.usable_window == 48
    assert replace(LIMITS, pool_tokens=1000).usable_window == 64
