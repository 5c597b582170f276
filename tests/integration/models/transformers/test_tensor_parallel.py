"""Networks of transformers divided among ranks by their plan: the same logits as in one process, and refusals."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig, ParallelConfig
from engine.executor.multiproc import MultiprocExecutor
from engine.llm import LLM
from models.errors import UnsupportedModelError
from models.interface.dense_context import DenseContext
from models.interface.parallel import SingleRank
from models.transformers.model import TransformersForCausalLM
from models.transformers.self_check import check_network
from models.transformers.tensor_parallel import keep_part
from models.transformers.weights import load_weights
from models.weights.folder import ModelFolder
from tests.integration.engine_rig import answer
from tests.sizes import MANY_PROCESSES
from tests.tiny_architectures import VOCAB, tiny_config, tiny_network
from tests.tiny_tokenizer import BYTE_VOCAB, TOKENIZER_CONFIG, byte_tokenizer

IDS = torch.randint(3, VOCAB, (30,), generator=torch.Generator().manual_seed(1))


class Shared:
    """Sums of two ranks that are threads of this process."""

    def __init__(self) -> None:
        self.parts: list[torch.Tensor | None] = [None, None]
        self.barrier = threading.Barrier(2, timeout=60)


class Rank(SingleRank):
    """RankGroup of two threads."""

    size = 2

    def __init__(self, rank: int, shared: Shared) -> None:
        self.rank = rank
        self._shared = shared

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        self._shared.parts[self.rank] = x
        self._shared.barrier.wait()
        first, second = self._shared.parts
        assert first is not None
        assert second is not None
        total = first + second
        self._shared.barrier.wait()
        return total


def part(folder: Path, rank: Rank) -> PreTrainedModel:
    """Load the network of one rank. Transformers changes global state during a load, so threads must not load."""
    network = load_weights(ModelFolder(folder), torch.float32, torch.device("cpu"))
    keep_part(network.get_decoder(), network.config.base_model_tp_plan or {}, rank)
    return network


def parts(folder: Path) -> list[PreTrainedModel]:
    shared = Shared()
    return [part(folder, Rank(rank, shared)) for rank in range(2)]


def checked_logits(network: PreTrainedModel) -> tuple[TransformersForCausalLM, torch.Tensor]:
    model = TransformersForCausalLM(network)
    check_network(model, network)
    return model, logits(model)


def saved(folder: Path, model_type: str, **changes: object) -> Path:
    tiny_network(tiny_config(model_type, **changes)).save_pretrained(folder)
    return folder


@torch.inference_mode()
def logits(model: TransformersForCausalLM) -> torch.Tensor:
    return model.compute_logits(model.forward(IDS, torch.arange(len(IDS)), DenseContext(model.attention)))


@pytest.mark.parametrize(
    ("model_type", "changes", "kv_heads"),
    [
        ("llama", {"mlp_bias": True, "attention_bias": True}, 1),
        ("cohere2", {}, 1),
        ("qwen3_moe", {}, 1),
        ("qwen2_moe", {}, 1),
        ("olmo2", {}, 2),
        ("deepseek_v3", {}, 4),
        ("gpt_neox", {}, 2),
    ],
)
def test_logits_of_two_ranks_equal_those_of_one(
    tmp_path: Path, model_type: str, changes: dict[str, object], kv_heads: int
) -> None:
    folder = saved(tmp_path, model_type, **changes)
    expected = logits(TransformersForCausalLM(load_weights(ModelFolder(folder), torch.float32, torch.device("cpu"))))
    with ThreadPoolExecutor(2) as pool:
        for model, found in pool.map(checked_logits, parts(folder)):
            assert {call.kv_heads for call in model.attention} == {kv_heads}
            assert float((found - expected).abs().max() / expected.std()) < 2e-4


def test_each_rank_holds_half_of_the_divided_matrices(tmp_path: Path) -> None:
    folder = saved(tmp_path, "qwen3_moe")

    def sizes(network: PreTrainedModel) -> list[int]:
        return [parameter.numel() for name, parameter in network.named_parameters() if "proj" in name]

    whole = sizes(load_weights(ModelFolder(folder), torch.float32, torch.device("cpu")))
    for network in parts(folder):
        assert [2 * size for size in sizes(network)] == whole


@pytest.mark.parametrize(
    ("model_type", "changes", "size", "words"),
    [
        ("gpt2", {}, 2, "no plan .* for model_type 'gpt2': leave out --tensor-parallel-size"),
        ("cohere2", {}, 3, "4 heads cannot be divided among 3 ranks"),
        ("cohere2", {"num_key_value_heads": 1}, 2, "1 KV heads cannot be divided among 2 ranks"),
    ],
)
def test_network_that_cannot_be_divided_is_refused(
    tmp_path: Path, model_type: str, changes: dict[str, object], size: int, words: str
) -> None:
    tiny_config(model_type, **changes).save_pretrained(tmp_path)
    config = EngineConfig(
        model=ModelConfig(path=tmp_path, name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        parallel=ParallelConfig(tensor_parallel_size=size),
    )
    with pytest.raises(EngineError, match=f"--tensor-parallel-size {size}: .*{words}"):
        MultiprocExecutor(config, print)


def test_matrix_that_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path, "cohere2", intermediate_size=97)
    with pytest.raises(UnsupportedModelError, match=r"mlp\.gate_proj of 97 cannot be divided among 2 ranks"):
        part(folder, Rank(0, Shared()))


@MANY_PROCESSES
def test_two_processes_give_the_tokens_of_one(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", "qwen3_moe", vocab_size=BYTE_VOCAB)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG))
    alone = EngineConfig(
        model=ModelConfig(path=folder, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=None, secret=b"secret", kv_memory=1 << 21),
    )
    answers = []
    for config in (alone, alone.with_fields(tensor_parallel_size=2)):
        with LLM(config) as llm:
            answers.append(answer(llm, IDS.tolist(), 12).token_ids)
    assert answers[0] == answers[1]
