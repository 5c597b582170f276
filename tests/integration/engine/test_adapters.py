"""Adapters in the whole engine: the answers, and which requests share KV."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.api.errors import EngineError, InvalidRequestError
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from models.errors import WeightsError
from tests.conftest import default_cache_dir
from tests.tiny_adapters import make_adapter, merged_model
from tests.tiny_architectures import tiny_config, tiny_network
from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizer import byte_tokenizer

PROMPT = [5 + at * 7 % 200 for at in range(150)]
SHORT = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)


def opened(model: Path, adapters: Path | None, **fields: Any) -> LLM:
    return LLM.open(
        str(model), default_cache_dir(), kv_memory=8 << 20, progress=lambda _: None, adapters_dir=adapters, **fields
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("adapted") / "model", hidden=128, heads=2, kv_heads=2)


@pytest.fixture(scope="module")
def adapters(model: Path) -> Path:
    folder = model.parent / "adapters"
    make_adapter(folder / "poet", model, seed=1)
    make_adapter(folder / "copy", model, seed=1)
    make_adapter(folder / "coder", model, seed=2)
    make_adapter(folder / "head", model, seed=3, targets=("down_proj",), layers=(1,))
    return folder


@pytest.fixture(params=["auto", "torch"])
def llm(request: pytest.FixtureRequest, model: Path, adapters: Path) -> Iterator[LLM]:
    with opened(model, adapters, cpu_kernels=request.param) as llm:
        yield llm


def ids_of(llm: LLM, adapter: str = "", prompt: list[int] = PROMPT) -> tuple[int, ...]:
    return tuple(llm.generate([prompt], SHORT, adapter=adapter)[0].outputs[0].token_ids)


def cached(llm: LLM, adapter: str) -> int:
    return llm.generate([PROMPT], SHORT, adapter=adapter)[0].num_cached_tokens


def test_adapted_answer_is_that_of_the_merged_model(model: Path, adapters: Path, tmp_path: Path) -> None:
    merged = merged_model(tmp_path / "merged", model, adapters / "poet")
    with opened(model, adapters, cpu_kernels="torch", dtype="float32") as llm:
        answers = [ids_of(llm, name) for name in ("poet", "coder", "")]
    with opened(merged, None, cpu_kernels="torch", dtype="float32") as llm:
        assert answers[0] == ids_of(llm)
    assert len(set(answers)) == 3


def test_kv_is_shared_by_content_only(llm: LLM) -> None:
    """Blocks of one adapter serve another name of the same content, and nothing else."""
    assert [cached(llm, name) for name in ("", "poet", "coder")] == [0, 0, 0]
    assert [cached(llm, name) >= 128 for name in ("", "poet", "coder", "copy")] == [True] * 4
    # The adapter of the last layer leaves K and V alone, so the base model's blocks are its own.
    assert cached(llm, "head") >= 128


def test_answers_alongside_other_adapters_equal_answers_alone(model: Path, adapters: Path) -> None:
    names = ["", "poet", "coder", "head", "poet", ""]
    prompts = [[*PROMPT[: 20 + 13 * at], at] for at in range(len(names))]
    with opened(model, adapters) as llm:
        alone = [ids_of(llm, name, prompt) for name, prompt in zip(names, prompts, strict=True)]
    with opened(model, adapters) as llm:
        queued = [llm._queue([prompt], [SHORT], 1, name)[0][0] for name, prompt in zip(names, prompts, strict=True)]
        answers = llm._run(queued)
    assert [tuple(answers[request_id].token_ids) for request_id in queued] == alone


def test_forks_and_preempted_requests_keep_their_adapter(model: Path, adapters: Path) -> None:
    with opened(model, adapters) as llm:
        first, second = llm.generate([PROMPT], SHORT, n=2, adapter="poet")[0].outputs
        assert tuple(first.token_ids) == tuple(second.token_ids) == ids_of(llm, "poet")
    # Room for two of the three sequences, so one is preempted and computed again.
    block = 2 * 2 * 2 * 64 * 64 * 2
    with LLM.open(
        str(model), default_cache_dir(), kv_memory=7 * block, progress=lambda _: None, adapters_dir=adapters
    ) as llm:
        long = SamplingParams(temperature=0.0, max_tokens=60, ignore_eos=True)
        prompts = [[at, *PROMPT[:100]] for at in (1, 2, 3)]
        together = [each.outputs[0].token_ids for each in llm.generate(prompts, long, adapter="poet")]
        alone = [llm.generate([prompt], long, adapter="poet")[0].outputs[0].token_ids for prompt in prompts]
    assert together == alone


def test_unknown_adapter_is_refused_with_its_name(llm: LLM) -> None:
    with pytest.raises(InvalidRequestError, match="there is no adapter 'nobody'") as refusal:
        ids_of(llm, "nobody")
    assert refusal.value.param == "model"


def test_adapter_that_does_not_fit_stops_the_start(model: Path, tmp_path: Path) -> None:
    other = make_tiny_model(tmp_path / "other", hidden=64)
    make_adapter(tmp_path / "adapters" / "misfit", other)
    with pytest.raises(WeightsError, match="the adapter misfit does not fit the model"):
        opened(model, tmp_path / "adapters")


def test_network_of_transformers_refuses_adapters(tmp_path: Path) -> None:
    config = tiny_config("olmo2")
    tiny_network(config).save_pretrained(tmp_path / "model")
    byte_tokenizer().save(str(tmp_path / "model" / "tokenizer.json"))
    (tmp_path / "adapters").mkdir()
    with pytest.raises(EngineError, match="--adapters-dir is not possible here"):
        opened(tmp_path / "model", tmp_path / "adapters")


@pytest.mark.parametrize("kernels", ["auto", "torch"])
def test_activated_adapter_reuses_the_kv_of_the_base(model: Path, tmp_path: Path, kernels: str) -> None:
    """Reuse the history that the base model computed, and answer as an engine that computed nothing before."""
    make_adapter(tmp_path / "adapters" / "called", model, seed=4, config={"alora_invocation_tokens": [2, 65]})
    history, asked = PROMPT[:130], [2, 65, 66, 67]
    with opened(model, tmp_path / "adapters", cpu_kernels=kernels) as llm:
        fresh = llm.generate([[*history, *asked]], SHORT, adapter="called")[0]
        assert fresh.num_cached_tokens == 0
    with opened(model, tmp_path / "adapters", cpu_kernels=kernels) as llm:
        assert llm.generate([history], SHORT)[0].num_cached_tokens == 0
        adapted = llm.generate([[*history, *asked]], SHORT, adapter="called")[0]
        assert adapted.num_cached_tokens == 128
        assert adapted.outputs[0].token_ids == fresh.outputs[0].token_ids
        again = llm.generate([[*history, *asked]], SHORT, adapter="called")[0]
        assert again.outputs[0].token_ids == fresh.outputs[0].token_ids
        # Without an invocation, the adapter computes nothing.
        assert ids_of(llm, "called", history) == ids_of(llm, "", history)
        assert ids_of(llm, "called", [*history, *asked]) != ids_of(llm, "", [*history, *asked])


def test_invocation_that_users_could_write_stops_the_start(model: Path, tmp_path: Path) -> None:
    make_adapter(tmp_path / "adapters" / "called", model, config={"alora_invocation_tokens": [65, 66]})
    with pytest.raises(EngineError, match="the alora_invocation_tokens of called have no control token"):
        opened(model, tmp_path / "adapters")


@pytest.mark.parametrize("split", ["tensor_parallel_size", "pipeline_parallel_size"])
def test_processes_that_share_a_model_compute_adapter_parts(model: Path, adapters: Path, split: str) -> None:
    fields = {"cpu_kernels": "torch", "dtype": "float32"} if split == "tensor_parallel_size" else {}
    with opened(model, adapters, **fields) as llm:
        alone = [ids_of(llm, name) for name in ("poet", "", "head")]
    with opened(model, adapters, **fields, **{split: 2}) as llm:
        assert [ids_of(llm, name) for name in ("poet", "", "head")] == alone
