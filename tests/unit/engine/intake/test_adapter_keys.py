"""Keys of blocks under adapters: one root per tenant and content."""

from dataclasses import replace

import pytest

from cache_tiers.owners.block_key import KeyNamespace, block_key
from engine.api.generate_request import GenerateRequest
from engine.api.promise import PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.api.stored_tokens import Trail
from engine.intake.prefix_keys import TenantSalts
from engine.intake.processor import ModelLimits, Processor
from models.adapters.adapter import Adapter

SPACE = KeyNamespace(
    model_fingerprint="model",
    numerics="cpu",
    kv_dtype="bfloat16",
    block_size=4,
    layout_version=1,
    tp_rank=0,
    tp_size=1,
    tenant_salt=b"",
)
POET, CODER = Adapter("poet", "a" * 64, True), Adapter("coder", "b" * 64, True)
PROMPT = tuple(range(10, 22))


def processor(*adapters: Adapter, public: tuple[int, ...] = ()) -> Processor:
    return Processor(
        ModelLimits(100, 64, 64, 4, ()),
        SPACE,
        TenantSalts(b"a secret of the tests"),
        prefix_cache=True,
        public=public,
        adapters=adapters,
        clock=lambda: 0.0,
    )


def keys(made: Processor, adapter: str = "", tenant: str = "t", produced: tuple[int, ...] = ()) -> list[bytes]:
    request = GenerateRequest(
        prompt_token_ids=PROMPT, params=SamplingParams(), adapter=adapter, tenant=tenant, produced=produced
    )
    return [*made.process("r", request).block_keys]


def test_each_content_has_its_own_keys_whatever_its_name() -> None:
    one = processor(POET, CODER)
    every = [keys(one), keys(one, "poet"), keys(one, "coder"), keys(one, "poet", "other")]
    assert len({key for each in every for key in each}) == 12
    assert keys(processor(replace(POET, name="renamed")), "renamed") == keys(one, "poet")
    assert keys(processor(replace(POET, digest="c" * 64)), "poet") != keys(one, "poet")


def test_adapter_that_leaves_kv_alone_has_the_keys_of_the_base() -> None:
    made = processor(replace(POET, changes_kv=False))
    assert keys(made, "poet") == keys(made)
    assert made.process("r", GenerateRequest(prompt_token_ids=PROMPT, params=SamplingParams(), adapter="poet")).adapter


def test_prepared_prompt_of_another_adapter_is_not_used() -> None:
    made = processor(POET)
    made.prepare(GenerateRequest(prompt_token_ids=PROMPT, params=SamplingParams(), tenant="t"))
    assert keys(made, "poet") == keys(processor(POET), "poet")


def test_public_prefix_is_shared_within_one_adapter() -> None:
    made = processor(POET, CODER, public=PROMPT[:4])
    for adapter in ("", "poet"):
        one, other = (keys(made, adapter, tenant) for tenant in ("a", "b"))
        assert [first == second for first, second in zip(one, other, strict=True)] == [True, False, False]
    assert len({keys(made, adapter)[0] for adapter in ("", "poet", "coder")}) == 3


@pytest.mark.parametrize("adapter", ["", "poet", "coder"])
def test_trails_have_the_keys_of_every_adapter(adapter: str) -> None:
    """Erase a deleted chat, whichever adapter has computed it."""
    made = processor(POET, CODER)
    produced = (5, 6, 7, 8)
    erased = made.keys.of_trails([Trail((*PROMPT, *produced), ends=(16,))], "t")
    assert set(keys(made, adapter, produced=produced)) <= set(erased)
    assert len(erased) == len(set(erased)) == 3 * 4


CALLED = Adapter("called", "d" * 64, True, (90, 91))
"""An adapter that two tokens activate."""


def keys_of(made: Processor, prompt: tuple[int, ...], adapter: str = "", tenant: str = "t") -> list[bytes]:
    request = GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(), adapter=adapter, tenant=tenant)
    return [*made.process("r", request).block_keys]


@pytest.mark.parametrize("public", [(), PROMPT[:4]])
def test_blocks_before_the_invocation_are_those_of_the_base(public: tuple[int, ...]) -> None:
    made = processor(CALLED, public=public)
    prompt = (*PROMPT[:9], 90, 91, 5, *PROMPT[:8])
    base, adapted = keys_of(made, prompt), keys_of(made, prompt, "called")
    assert [one == other for one, other in zip(base, adapted, strict=True)] == [True, True, False, False, False]
    request = GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(), adapter="called", tenant="t")
    used = made.process("r", request)
    assert used.adapter is not None
    assert used.adapter.first == 9
    assert [used.key_before(at) for at in (2, 4)] == [used.root_key, adapted[3]]


def test_last_invocation_of_the_prompt_counts() -> None:
    made = processor(CALLED)
    once, twice = (*PROMPT[:6], 90, 91), (*PROMPT[:6], 90, 91, *PROMPT[:8], 90, 91, 5, 6)
    assert keys_of(made, twice, "called")[:4] == keys_of(made, twice)[:4]
    assert keys_of(made, once, "called")[1] not in keys_of(made, twice, "called")


def test_prompt_without_invocation_is_the_bases() -> None:
    made = processor(CALLED)
    request = GenerateRequest(prompt_token_ids=PROMPT, params=SamplingParams(), tenant="t", adapter="called")
    assert made.process("r", request).adapter is None
    assert keys_of(made, PROMPT, "called") == keys_of(made, PROMPT)


def test_place_of_the_invocation_is_part_of_the_key() -> None:
    """An invocation that ends behind a block adapts its last token alone, where another one adapts more of it."""
    made = processor(CALLED)
    within, across = (90, 91, 5, 90, 7, 7, 7, 7), (90, 91, 5, 90, 91, 7, 7, 7)
    assert within[:4] == across[:4]
    assert keys_of(made, within, "called")[0] != keys_of(made, across, "called")[0]


def test_trails_have_the_keys_of_every_invocation() -> None:
    made = processor(CALLED)
    first = (*PROMPT[:5], 90, 91, 1, 2, 3, 4, 5)
    second = (*first, *PROMPT[:6], 90, 91)
    erased = set(made.keys.of_trails([Trail((*second, 1, 2, 3), ends=(len(second) + 3,))], "t"))
    for prompt in (first, second, (*second, 1, 2, 3)):
        assert set(keys_of(made, prompt, "called")) <= erased
    assert set(keys_of(made, second)) <= erased


SOFT, SOFTER = Adapter("soft", "e" * 64, True, num_virtual=6), Adapter("softer", "f" * 64, True, num_virtual=6)
"""Prompt adapters, whose virtual tokens fill one block and a half."""


def test_virtual_tokens_are_the_first_of_the_keys() -> None:
    made = processor(SOFT, SOFTER)
    base, one, other = keys(made), keys(made, "soft"), keys(made, "softer")
    assert [len(each) for each in (base, one, other)] == [3, 4, 4]
    assert len({*base, *one, *other}) == 11
    assert made.keys.of(PROMPT, "t", SOFT) == one
    assert keys_of(made, (*PROMPT[:6], 99), "soft") == one[:3]


def test_public_prefix_begins_after_the_virtual_tokens() -> None:
    made = processor(SOFT, public=PROMPT[:4])
    one, other = (keys(made, "soft", tenant) for tenant in ("a", "b"))
    assert [first == second for first, second in zip(one, other, strict=True)] == [True, True, False, False]


def test_trails_have_the_keys_of_prompt_adapters() -> None:
    made = processor(SOFT)
    produced = (5, 6, 7, 8)
    trail = Trail((*PROMPT, *produced), num_shared=4, ends=(16,))
    erased = made.keys.of_trails([trail], "t")
    assert set(keys(made, "soft", produced=produced)[2:]) <= set(erased)
    # The block of virtual tokens, and the one that holds the end of the shared tokens, serve other trails.
    assert not set(keys(made, "soft")[:2]) & set(erased)
    request = GenerateRequest(
        prompt_token_ids=PROMPT, params=SamplingParams(), adapter="soft", tenant="t", produced=produced
    )
    used = made.process("r", request)
    assert block_key(used.key_before(5), used.token_ids(20, 22)) in erased


def test_parts_that_clients_mark_begin_after_the_virtual_tokens() -> None:
    made = processor(SOFT)
    request = GenerateRequest(
        prompt_token_ids=PROMPT,
        params=SamplingParams(),
        adapter="soft",
        num_marked=len(PROMPT),
        promise=PromiseRequest(8, 60.0, 1 << 20),
    )
    used = made.process("r", request)
    assert used.num_marked == used.num_prompt_tokens == 18
    assert used.keys_to_promise(4) == used.block_keys[:3]
    assert used.text_token_ids == PROMPT
    assert made.process("s", replace(request, num_marked=0, promise=None)).num_marked == 0
