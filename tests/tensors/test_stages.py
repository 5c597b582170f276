"""A model divided into pipeline stages: the stages hold the whole model, and compute its results bit for bit."""

from itertools import accumulate
from pathlib import Path

import pytest
import torch

from models.decoder.config import DecoderConfig
from models.decoder.model import EMBEDDING, DecoderForCausalLM
from models.decoder.stages import stage_layers
from models.errors import UnsupportedModelError
from models.interface.dense_context import DenseContext
from models.interface.partition import Partition, Stage
from models.registry import load_model, read_config, split_layers
from models.weights.folder import ModelFolder
from tests.family_models import save_family
from tests.tiny_models import make_tiny_model

CPU = torch.device("cpu")
IDS = torch.arange(5, 25)


def stages_of(folder: Path, layers: tuple[int, ...]) -> list[DecoderForCausalLM]:
    partition, models = Partition(layers=layers), []
    for index in range(len(layers)):
        model = load_model(folder, torch.bfloat16, CPU, stage=partition.stage(index))
        assert isinstance(model, DecoderForCausalLM)
        models.append(model)
    return models


def logits(models: list[DecoderForCausalLM]) -> torch.Tensor:
    x = IDS
    for model in models:
        x = model.forward(x, torch.arange(len(IDS)), DenseContext(model.attention))
    return models[-1].compute_logits(x)


@pytest.mark.parametrize("name", ["tied", "untied", "gemma3", "phi3, part"])
def test_stages_compute_the_logits_of_the_whole_model(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    if name.endswith("tied"):
        make_tiny_model(folder, layers=3, tied=name == "tied", seed=1)
    else:
        save_family(folder, name)
    whole = load_model(folder, torch.bfloat16, CPU)
    assert isinstance(whole, DecoderForCausalLM)
    count = whole.config.num_layers
    assert count > 1
    parts = stages_of(folder, (1, count - 1))
    assert torch.equal(logits(parts), logits([whole]))
    names = [slot for part in parts for slot in part.slots()]
    assert set(names) == set(whole.slots())
    twice = {slot for slot in names if names.count(slot) > 1}
    assert twice == ({EMBEDDING} if whole.config.tie_word_embeddings else set())


def config_of(folder: Path, **sizes: int) -> DecoderConfig:
    return read_config(ModelFolder(make_tiny_model(folder, **sizes)).config())  # type: ignore[arg-type]


def test_last_stage_has_fewer_layers_for_its_output_matrix(tmp_path: Path) -> None:
    """Use a layer of 10 hidden² weights, and an output matrix of 64 hidden², which is 6.4 layers."""
    config = config_of(tmp_path, layers=20, hidden=64, heads=4, kv_heads=4, vocab=64 * 64)
    assert stage_layers(config, 2) == (13, 7)
    assert stage_layers(config, 4) == (6, 6, 7, 1)
    assert stage_layers(config, 20) == (1,) * 20
    assert stage_layers(config_of(tmp_path / "small", layers=20, vocab=64), 3) == (6, 7, 7)


def test_fewer_layers_than_stages_are_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path)
    with pytest.raises(UnsupportedModelError, match="2 layers cannot be divided among 3 stages"):
        split_layers(folder, 3)


def test_processes_are_ordered_by_stage_then_rank() -> None:
    partition = Partition(ranks=2, layers=(2, 3, 1))
    assert [partition.place(process) for process in range(6)] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert partition.sampler == 4
    ends = list(accumulate(partition.layers))
    assert [partition.stage(index) for index in range(3)] == [
        Stage(range(ends[0]), is_first=True, is_last=False),
        Stage(range(ends[0], ends[1]), is_first=False, is_last=False),
        Stage(range(ends[1], ends[2]), is_first=False, is_last=True),
    ]
    assert Partition(ranks=2).stage(0) is None
