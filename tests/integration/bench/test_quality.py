"""Metrics of bench.quality, and the logits of its native arm."""

import math
from pathlib import Path

import pytest
import torch

from bench.quality import NativeArm, TorchArm, compare, summarise
from tests.native_rig import KernelsFor
from tests.sizes import TOOL
from tests.tiny_models import make_tiny_model

pytestmark = TOOL


def test_metrics_of_known_distributions_are_exact() -> None:
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


def test_native_logits_match_torch_for_texts_of_any_length(tmp_path: Path, kernels: KernelsFor) -> None:
    folder = make_tiny_model(tmp_path / "tiny", hidden=192, heads=3, kv_heads=1)
    texts = [[5, 6, 7], [200 - at for at in range(70)], [9]]
    native = NativeArm(folder, kernels("auto"), "bfloat16", longest=70)
    expected = TorchArm(folder, torch.float32)(texts)
    for ours, theirs in zip(native(texts), expected, strict=True):
        assert ours.shape == theirs.shape
        assert float((ours - theirs).norm() / theirs.norm()) < 0.02
