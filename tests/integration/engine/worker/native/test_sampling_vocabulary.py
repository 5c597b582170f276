"""Sampling of the native step from the vocabularies of large models, against the definition in float64."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.api.sampling_params import SamplingParams
from engine.sampling.masks import words_of_ids
from engine.sampling.sampler import SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from tests.drawn_tokens import SPREADS, WAYS, assert_drawn
from tests.native_rig import KernelsFor, NativeRig
from tests.sizes import Size
from tests.tiny_models import make_tiny_model

QWEN, GEMMA = 151_936, 262_144


@dataclass(frozen=True, slots=True)
class Model:
    folder: Path
    vocab: int


@pytest.fixture(scope="module", params=[QWEN, GEMMA])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Write a model whose last 7 ids have the logits of 7 others."""
    vocab = request.param
    folder = make_tiny_model(
        tmp_path_factory.mktemp("tiny") / "model", layers=1, hidden=64, heads=1, kv_heads=1, vocab=vocab, tied=True
    )
    tensors = load_file(folder / "model.safetensors")
    rows = torch.randn(vocab, 64, generator=torch.Generator().manual_seed(vocab)) / 8
    rows[-7:] = rows[100:107]
    save_file(tensors | {"model.embed_tokens.weight": rows}, folder / "model.safetensors", metadata={"format": "pt"})
    return Model(folder, vocab)


def rig_of(kernels: KernelsFor, model: Model, spread: float, blocks: int) -> NativeRig:
    """Load the model with logits of the standard deviation `spread`."""
    path = model.folder / "model.safetensors"
    tensors = load_file(path)
    norm = torch.full_like(tensors["model.norm.weight"], spread)
    save_file(tensors | {"model.norm.weight": norm}, path, metadata={"format": "pt"})
    return NativeRig(kernels("auto"), model.folder, num_blocks=blocks)


def scheduled(rig: NativeRig, rows: list[SamplingRow]) -> list[ScheduledRequest]:
    return [
        ScheduledRequest(
            request_id=str(at),
            token_ids=[11 + at],
            context_len=0,
            block_ids=rig.start([11 + at]).blocks,
            sampling=(row,),
        )
        for at, row in enumerate(rows)
    ]


def row_of(params: SamplingParams, at: int) -> SamplingRow:
    return SamplingRow(replace(params, seed=977 * at + 5), position=3 + at, produced=0)


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_draws_follow_the_definition(kernels: KernelsFor, model: Model, size: Size, spread: float) -> None:
    each = size.pick(small=2, full=20)
    rows = [row_of(params, at) for at, params in enumerate(list(WAYS.values()) * each)]
    rig = rig_of(kernels, model, spread, 2 * len(rows))
    computed = rig.runners[2].compute(scheduled(rig, rows), range(len(rows)))
    for row, logits, token in zip(rows, computed.logits, computed.tokens, strict=True):
        assert_drawn(logits.double().numpy(), row, token)
    assert rig.runners[1].compute(scheduled(rig, rows)).tokens == computed.tokens


def test_masked_ids_are_never_drawn(kernels: KernelsFor, model: Model, size: Size) -> None:
    allowed = [9, 10_000, *range(130_000, 130_200), model.vocab - 1]
    mask = words_of_ids(allowed, model.vocab)
    rows = [replace(row_of(params, at), mask=mask) for at, params in enumerate(WAYS.values())]
    rig = rig_of(kernels, model, size.pick(small=1.0, full=2.0), 2 * len(rows))
    computed = rig.runners[2].compute(scheduled(rig, rows), range(len(rows)))
    for row, logits, token in zip(rows, computed.logits, computed.tokens, strict=True):
        masked = np.full(model.vocab, -np.inf)
        masked[allowed] = logits.double().numpy()[allowed]
        assert token in allowed
        assert_drawn(masked, row, token)


def test_equal_logits_keep_the_lowest_ids(kernels: KernelsFor, model: Model) -> None:
    ways = (SamplingParams(top_k=7), SamplingParams(top_p=6.9 / model.vocab))
    rows = [row_of(ways[at % 2], at) for at in range(64)]
    rig = rig_of(kernels, model, 0.0, len(rows))
    assert set(rig.runners[2].compute(scheduled(rig, rows)).tokens) == set(range(7))


def test_ids_whose_logit_is_not_a_number_are_never_drawn(kernels: KernelsFor, model: Model) -> None:
    path = model.folder / "model.safetensors"
    tensors = load_file(path)
    broken = tensors["model.embed_tokens.weight"].clone()
    broken[5000:5003, 0] = float("nan")
    save_file(tensors | {"model.embed_tokens.weight": broken}, path, metadata={"format": "pt"})
    try:
        rows = [row_of(params, at) for at, params in enumerate(WAYS.values())]
        rig = rig_of(kernels, model, 1.0, 2 * len(rows))
        computed = rig.runners[2].compute(scheduled(rig, rows), range(len(rows)))
    finally:
        save_file(tensors, path, metadata={"format": "pt"})
    for row, logits, token in zip(rows, computed.logits.double().numpy(), computed.tokens, strict=True):
        logits[np.isnan(logits)] = -np.inf
        assert_drawn(logits, row, token)
