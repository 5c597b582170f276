"""A model split over ranks: the shards are complete, and sums over the ranks equal the whole model's results."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig
from engine.executor.multiproc import MultiprocExecutor
from models.decoder.model import DecoderForCausalLM, Positions
from models.interface.causal_lm import ForwardContext
from models.interface.parallel import SINGLE_RANK, RankGroup
from models.registry import load_model
from tests.family_models import save_family
from tests.tiny_models import make_tiny_model

CPU = torch.device("cpu")


@dataclass
class Part:
    """One of two ranks. `sum` does nothing, because the test adds up the results."""

    rank: int
    size: int = 2

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def agree(self, token_ids: torch.Tensor) -> torch.Tensor:
        return token_ids


class SelfAttention:
    """A stand-in for attention in which each row attends only to itself, so that heads stay separate."""

    def attention(
        self, _index: int, q: torch.Tensor, _k: torch.Tensor, v: torch.Tensor, _sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        return v.repeat_interleave(q.shape[1] // v.shape[1], dim=1) + q


def model_of(folder: Path, ranks: RankGroup) -> DecoderForCausalLM:
    model = load_model(folder, torch.float32, CPU, ranks=ranks)
    assert isinstance(model, DecoderForCausalLM)
    return model


def test_sum_over_two_ranks_equals_one_with_each_bias_once(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, architecture="PanguEmbeddedForCausalLM", bias=True, layers=1)
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(1))
    context: ForwardContext = SelfAttention()

    def outputs(ranks: RankGroup) -> tuple[torch.Tensor, torch.Tensor]:
        model = model_of(folder, ranks)
        layer, rope = model._layers[0], model._ropes[0]
        positions = Positions((rope, rope.rows(torch.arange(5))), None)
        return layer.attention(x, positions, context), layer.mlp(x)

    whole, parts = outputs(SINGLE_RANK), [outputs(Part(rank)) for rank in range(2)]
    for ours, theirs in zip(whole, zip(*parts, strict=True), strict=True):
        torch.testing.assert_close(ours, theirs[0] + theirs[1])


def test_concatenated_shards_equal_whole_tensors(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, architecture="PanguEmbeddedForCausalLM", bias=True)
    whole = model_of(folder, SINGLE_RANK).slots()
    parts = [model_of(folder, Part(rank)).slots() for rank in range(2)]
    cut = 0
    for name, tensor in whole.items():
        shards = [part[name] for part in parts if name in part]
        if name == "lm_head.weight":
            assert len(shards) == 1, "only rank 0 needs an output matrix"
        if shards[0].shape == tensor.shape:
            assert torch.equal(shards[0], tensor)
        else:
            axis = next(axis for axis in range(2) if shards[0].shape[axis] != tensor.shape[axis])
            assert torch.equal(torch.cat(shards, axis), tensor)
            cut += 1
    assert cut == 2 * (3 + 3 + 1 + 3), "two layers: q, k, v with biases, o, gate, up and down"
    assert not parts[1]["model.layers.0.self_attn.o_proj.bias"].any()


@pytest.mark.parametrize("name", ["gemma3", "phi3, part"])
def test_shards_of_a_family_equal_whole_tensors(tmp_path: Path, name: str) -> None:
    folder = save_family(tmp_path / "model", name)
    whole = model_of(folder, SINGLE_RANK).slots()
    parts = [model_of(folder, Part(rank)).slots() for rank in range(2)]
    for slot, tensor in whole.items():
        axis = 1 if slot.endswith(("o_proj.weight", "down_proj.weight")) else 0
        is_cut = "proj" in slot
        shards = [part[slot] for part in parts if slot in part]
        assert torch.equal(torch.cat(shards, axis) if is_cut else shards[0], tensor), slot


def test_size_that_does_not_divide_heads_is_rejected_at_start(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, heads=4, kv_heads=2)
    config = EngineConfig(
        model=ModelConfig(path=folder, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"s"),
        parallel=ParallelConfig(tensor_parallel_size=4),
    )
    with pytest.raises(EngineError, match=r"--tensor-parallel-size 4: 2 num_kv_heads cannot be divided among 4 ranks"):
        MultiprocExecutor(config, print)
