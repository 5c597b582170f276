"""Sampling of the native step: the same tokens as the torch sampler for the same logits, up to rounding."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.api.sampling_params import SamplingParams
from engine.cpu.instruction_set import usable_instruction_sets
from engine.sampling.adjustments import Adjustments
from engine.sampling.batch_settings import BatchSettings, RequestMemory
from engine.sampling.masks import Words, words_of_ids
from engine.sampling.sampler import Sampler, SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from tests.drawn_tokens import assert_drawn
from tests.native_rig import KernelsFor, NativeRig
from tests.sizes import Size
from tests.tiny_models import make_tiny_model

INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
VOCAB = 2500
STOPS = (7, 2499)
WAYS = {
    "arg max": SamplingParams(temperature=0.0),
    "arg max before the end is allowed": SamplingParams(temperature=0.0, min_tokens=3, stop_token_ids=STOPS),
    "all tokens": SamplingParams(),
    "all tokens, hot": SamplingParams(temperature=2.0),
    "allowed ids, as hot as can be": SamplingParams(temperature=1e6, allowed_token_ids=(1, 31, 32, 2498)),
    "all tokens, cold": SamplingParams(temperature=0.01),
    "before the end is allowed": SamplingParams(min_tokens=3, stop_token_ids=STOPS),
    "top_k": SamplingParams(top_k=5),
    "top_k of nearly all": SamplingParams(temperature=2.0, top_k=VOCAB - 1),
    "top_p": SamplingParams(temperature=0.2, top_p=0.9),
    "top_p of very many": SamplingParams(temperature=2.0, top_p=0.999),
    "top_p of one": SamplingParams(top_p=1e-6),
    "top_k, then top_p": SamplingParams(top_k=20, top_p=0.7),
    "min_p": SamplingParams(min_p=0.3),
    "top_k, top_p and min_p": SamplingParams(top_k=20, top_p=0.9, min_p=0.5),
    "penalties, arg max": SamplingParams(
        temperature=0.0, repetition_penalty=1.5, presence_penalty=0.2, frequency_penalty=0.3
    ),
    "penalties": SamplingParams(repetition_penalty=0.5, presence_penalty=-1.0, frequency_penalty=-2.0, top_k=5),
    "biases, arg max": SamplingParams(temperature=0.0, logit_bias=((2499, 1.0), (5, -100.0), (77, 1.25))),
    "allowed ids": SamplingParams(allowed_token_ids=(1, 31, 32, 2498), bad_word_ids=((31,), (1, 2))),
    "bad ids, arg max": SamplingParams(temperature=0.0, bad_word_ids=tuple((i,) for i in range(0, VOCAB, 2))),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", hidden=128, heads=2, kv_heads=1, vocab=VOCAB)


def requests(rig: NativeRig, params: SamplingParams, seeds: range, mask: Words | None = None) -> list[ScheduledRequest]:
    """Make one request of one token per seed. Sequences, positions and seeds all differ."""
    made = []
    for seed in seeds:
        with_seed = replace(params, seed=(seed << 40) + 17 * seed, choice=seed % 3)
        token = 11 + 37 * seed % (VOCAB - 11)
        adjustments = Adjustments.of(with_seed, [token, 2000, 2000, seed], 2, VOCAB)
        row = SamplingRow(with_seed, position=3 + seed, produced=0, mask=mask, adjustments=adjustments)
        made.append(
            ScheduledRequest(
                request_id=str(seed),
                token_ids=[token],
                context_len=0,
                block_ids=rig.start([token]).blocks,
                sampling=(row,),
            )
        )
    return made


def seen(rows: list[SamplingRow]) -> list[dict[int, int]]:
    """Collect the occurrences, by id, of the tokens that the penalties of each row have seen."""
    known = [row.adjustments.seen.known() for row in rows if row.adjustments is not None and row.adjustments.seen]
    return [dict(zip(ids.tolist(), counts.tolist(), strict=True)) for ids, counts in known]


def with_tokens(known: list[dict[int, int]], tokens: list[int]) -> list[dict[int, int]]:
    """Count one of `tokens` for each row with penalties."""
    return [each | {token: each.get(token, 0) + 1} for each, token in zip(known, tokens, strict=False)]


def adjusted(logits: torch.Tensor, rows: list[SamplingRow]) -> torch.Tensor:
    """Return a copy of the logits from which tokens are drawn: with penalties and biases, and without barred tokens."""
    own = logits.clone()
    memory = RequestMemory(VOCAB, own.device)
    BatchSettings([row.params for row in rows], [row.adjustments for row in rows], memory).adjust(own)
    for values, row in zip(own, rows, strict=True):
        values[list(row.barred_ids)] = float("-inf")
    return own


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize("params", WAYS.values(), ids=WAYS.keys())
def test_row_gets_the_token_that_torch_samples(
    folder: Path, kernels: KernelsFor, size: Size, params: SamplingParams, instruction_set: str
) -> None:
    count = size.pick(small=40, full=400)
    rig = NativeRig(kernels(instruction_set), folder, num_blocks=2 * count)
    scheduled = requests(rig, params, range(count))
    computed = rig.runners[2].compute(scheduled, range(count))
    tokens = computed.tokens
    rows = [row for request in requests(rig, params, range(count)) for row in request.sampling]
    logits = adjusted(computed.logits, rows)
    expected = Sampler().sample(computed.logits, rows).tolist()
    different = [at for at in range(count) if tokens[at] != expected[at]]
    assert len(different) <= count // 100
    for at in different:
        # The number drawn is at the boundary of two tokens, where the last bit of a weight decides.
        for token in (tokens[at], expected[at]):
            assert_drawn(logits[at].double().numpy(), rows[at], token)
    assert seen([row for request in scheduled for row in request.sampling]) == with_tokens(seen(rows), tokens)
    if params.min_tokens:
        assert not set(tokens) & set(STOPS)
    if params.temperature >= 1 and params.top_p > 0.5:
        assert len(set(tokens)) > 1


@pytest.mark.parametrize("way", ["arg max", "all tokens", "top_k", "top_p", "before the end is allowed"])
def test_masked_row_gets_the_token_that_torch_samples(folder: Path, kernels: KernelsFor, size: Size, way: str) -> None:
    count = size.pick(small=40, full=400)
    rig = NativeRig(kernels(INSTRUCTION_SETS[0]), folder, num_blocks=count + 1)
    allowed = [7, 31, 32, 100, 1777, 2498, 2499]
    masked = requests(rig, WAYS[way], range(count), words_of_ids(allowed, VOCAB))
    free = requests(rig, WAYS["arg max"], range(count, count + 1))
    computed = rig.runners[2].compute([*masked, *free], range(count + 1))
    rows = [row for request in (*masked, *free) for row in request.sampling]
    assert set(computed.tokens[:count]) <= set(allowed)
    assert computed.tokens == Sampler().sample(computed.logits, rows).tolist()
    assert len(set(computed.tokens)) > 2


def test_ids_beyond_the_end_of_a_mask_are_not_sampled(folder: Path, kernels: KernelsFor) -> None:
    rig = NativeRig(kernels(INSTRUCTION_SETS[0]), folder, num_blocks=2)
    short = words_of_ids([3], 64)
    scheduled = requests(rig, WAYS["arg max"], range(1), short) + requests(rig, WAYS["all tokens"], range(1, 2), short)
    assert rig.runners[2].compute(scheduled).tokens == [3, 3]


def test_sampled_token_depends_on_neither_batch_nor_threads(folder: Path, kernels: KernelsFor) -> None:
    ways = list(WAYS.values())
    rig = NativeRig(kernels(INSTRUCTION_SETS[0]), folder, num_blocks=3 * len(ways))

    def scheduled() -> list[ScheduledRequest]:
        return [requests(rig, params, range(i, i + 1))[0] for i, params in enumerate(ways)]

    together = rig.runners[2].compute(scheduled()).tokens
    assert rig.runners[1].compute(scheduled()).tokens == together
    assert [rig.runners[2].compute([request]).tokens[0] for request in scheduled()] == together


def test_returned_logits_are_those_before_barring_stop_tokens(folder: Path, kernels: KernelsFor) -> None:
    rig = NativeRig(kernels(INSTRUCTION_SETS[0]), folder, num_blocks=2)
    free, barred = requests(rig, WAYS["arg max"], range(1)), requests(rig, WAYS["before the end is allowed"], range(1))
    expected = rig.runners[2].compute(free, [0]).logits
    assert torch.equal(rig.runners[2].compute(barred, [0]).logits, expected)
