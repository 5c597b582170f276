"""Embeddings: pooled hidden states of prompts, on the native step and on torch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import AutoModelForCausalLM

from engine.api.errors import PromptTooLongError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import Pooling, SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SchedulerConfig
from engine.llm import LLM
from tests.conftest import default_cache_dir
from tests.integration.engine_rig import engine_config
from tests.tiny_models import make_tiny_model

POOLINGS: tuple[Pooling, ...] = ("mean", "last")
PROMPTS = tuple(tuple(5 + at * (7 + length) % 200 for at in range(length)) for length in (1, 64, 150))
TEXTS = (
    "The river runs from the mountains to the sea, and in spring it carries the snow of a whole winter with it.",
    "Unit tests compare one function with its specification.",
    "Sea",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(
        tmp_path_factory.mktemp("tiny") / "model", hidden=128, heads=2, kv_heads=1, max_positions=192
    )


def llm_of(model: Path, dtype: str, *, rows: int = 2048) -> LLM:
    """Start an engine whose steps have at most `rows` rows."""
    return LLM(
        EngineConfig(
            model=ModelConfig(path=model, name="tiny", dtype=dtype),
            cache=CacheConfig(tiers=None, secret=b"a secret of the tests", kv_memory=8 << 20),
            scheduler=SchedulerConfig(max_num_batched_tokens=rows),
            device=DeviceConfig(cache_dir=default_cache_dir()),
        )
    )


@pytest.fixture(params=["bfloat16", "float32"])
def llm(request: pytest.FixtureRequest, model: Path) -> Iterator[LLM]:
    """Engine on the native step (bfloat16) and on torch (float32)."""
    with llm_of(model, request.param) as made:
        yield made


def embed(llm: LLM, prompts: Sequence[Sequence[int]], pooling: Pooling | Literal["auto"]) -> list[RequestOutput]:
    """Embed all prompts together and return the last output of each."""
    params = SamplingParams(temperature=0.0, pooling=pooling)
    ids = [
        llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)).request_id for prompt in prompts
    ]
    last: dict[str, RequestOutput] = {}
    while llm.engine.has_unfinished_requests():
        last |= {output.request_id: output for output in llm.engine.step() if output.finished}
    return [last[request_id] for request_id in ids]


def bits(outputs: Sequence[RequestOutput]) -> list[bytes]:
    """Return the embeddings, of which each has ended its request without an answer."""
    for output in outputs:
        assert (output.finish_reason, output.text, output.token_ids) == ("stop", "", ())
    return [output.embedding for output in outputs if output.embedding is not None]


def cached(outputs: Sequence[RequestOutput]) -> list[int]:
    return [output.usage.kv.cached for output in outputs if output.usage is not None]


def expected(model: Path, prompts: Sequence[Sequence[int]], pooling: Pooling) -> list[npt.NDArray[np.float32]]:
    """Pool the hidden states that transformers computes in float32."""
    body = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).model
    with torch.inference_mode():
        states = [body(torch.tensor([prompt])).last_hidden_state[0] for prompt in prompts]
    return [(each.mean(dim=0) if pooling == "mean" else each[-1]).numpy() for each in states]


def distances(embeddings: Sequence[bytes], exact: Sequence[npt.NDArray[np.float32]]) -> list[float]:
    """Return the relative distance of each embedding from the exact one."""
    pairs = zip((np.frombuffer(each, dtype="<f4") for each in embeddings), exact, strict=True)
    return [float(np.linalg.norm(value - true) / np.linalg.norm(true)) for value, true in pairs]


@pytest.mark.parametrize("pooling", POOLINGS)
def test_embeddings_match_hidden_states_of_transformers(llm: LLM, model: Path, pooling: Pooling) -> None:
    close = 1e-5 if llm.engine.core.scheduler.blocks.block_nbytes > 2 * 64 * 64 * 2 * 2 else 0.02
    found = bits(embed(llm, PROMPTS, pooling))
    assert max(distances(found, expected(model, PROMPTS, pooling))) < close


@pytest.mark.parametrize("pooling", POOLINGS)
def test_embeddings_of_the_real_model_match_transformers(model_path: Path, tmp_path: Path, pooling: Pooling) -> None:
    with LLM(engine_config(model_path, tmp_path / "state", blocks=24, prefix_cache=False)) as llm:
        prompts = [llm.tokenizer.encode_prompt(text) for text in TEXTS]
        found = bits(embed(llm, prompts, pooling))
    assert max(distances(found, expected(model_path, prompts, pooling))) < 0.03


@pytest.mark.parametrize("pooling", POOLINGS)
def test_batches_and_chunks_give_the_same_bits(model: Path, pooling: Pooling) -> None:
    with llm_of(model, "bfloat16") as whole, llm_of(model, "bfloat16", rows=24) as chunked:
        alone = [bits(embed(whole, [prompt], pooling))[0] for prompt in PROMPTS]
        assert bits(embed(whole, PROMPTS, pooling)) == alone
        assert bits(embed(chunked, PROMPTS, pooling)) == alone


def test_model_folder_chooses_the_pooling(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model", hidden=128, heads=2, kv_heads=1)
    with llm_of(folder, "bfloat16") as plain:
        ways: tuple[Pooling | Literal["auto"], ...] = (*POOLINGS, "auto")
        by_way = {way: bits(embed(plain, PROMPTS, way)) for way in ways}
    assert by_way["auto"] == by_way["mean"] != by_way["last"]
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_lasttoken": true}')
    with llm_of(folder, "bfloat16") as trained:
        assert bits(embed(trained, PROMPTS, "auto")) == by_way["last"]


def test_last_token_reuses_cached_prefix_and_mean_computes_all(llm: LLM) -> None:
    fresh = {pooling: bits(embed(llm, PROMPTS[2:], pooling)) for pooling in POOLINGS}
    # Nothing that an embedding computed is found by another request.
    assert cached(embed(llm, PROMPTS[2:], "last")) == [0]
    llm.generate([PROMPTS[2]], SamplingParams(max_tokens=1))
    again = {pooling: embed(llm, PROMPTS[2:], pooling) for pooling in POOLINGS}
    assert cached(again["last"]) == [149]
    assert cached(again["mean"]) == [0]
    # torch may choose another kernel for one row than for 150, so only the native step repeats every bit.
    if llm.engine.core.scheduler.blocks.block_nbytes == 2 * 64 * 64 * 2 * 2:
        assert {pooling: bits(outputs) for pooling, outputs in again.items()} == fresh


def test_text_may_fill_the_window_and_no_more(llm: LLM) -> None:
    window = llm.engine.processor.limits.window
    assert len(bits(embed(llm, [[7] * window], "mean"))) == 1
    with pytest.raises(PromptTooLongError, match=f"maximum context length is {window} tokens. However"):
        embed(llm, [[7] * (window + 1)], "mean")
