"""The numbers of bench.quality, and that its native arm sees the texts that it is given."""

import math
from pathlib import Path

import pytest
import torch

from bench.quality import NativeArm, TorchArm, compare, summarise
from tests.native_rig import KernelsFor
from tests.tiny_models import make_tiny_model


def test_divergence_agreement_and_perplexity_are_those_of_known_distributions() -> None:
    reference = torch.tensor([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]).log()
    logits = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.3, 0.3, 0.4]]).log() + 7.0
    found = compare(logits, reference, [0, 1])
    assert found.divergence == pytest.approx([0.0, 0.25 * math.log(2)], abs=1e-6)
    assert list(found.agrees) == [True, False]
    assert found.surprise == pytest.approx([math.log(2), math.log(2)])
    quality = summarise("halves", [found, found])
    assert quality.greedy_agreement == 0.5
    assert quality.perplexity == pytest.approx(2.0)
    assert quality.kl_mean == pytest.approx(0.125 * math.log(2), abs=1e-6)


def test_texts_of_different_lengths_get_the_logits_of_their_own_rows(tmp_path: Path, kernels: KernelsFor) -> None:
    folder = make_tiny_model(tmp_path / "tiny", hidden=192, heads=3, kv_heads=1)
    texts = [[5, 6, 7], [200 - at for at in range(70)], [9]]
    native = NativeArm(folder, kernels("auto"), "bfloat16", longest=70)
    expected = TorchArm(folder, torch.float32)(texts)
    for ours, theirs in zip(native(texts), expected, strict=True):
        assert ours.shape == theirs.shape
        assert float((ours - theirs).norm() / theirs.norm()) < 0.02
