"""The order of a step's end: the model computes the next step while the texts of the last one are made."""

from pathlib import Path

import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from engine.scheduling.results import TokenUpdate
from tests.conftest import default_cache_dir
from tests.tiny_models import make_tiny_model


@pytest.mark.parametrize("fills", [True, False])
def test_next_step_starts_before_texts_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fills: bool
) -> None:
    config = EngineConfig(
        model=ModelConfig(path=make_tiny_model(tmp_path), name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"a secret of the tests", kv_memory=1 << 20),
        device=DeviceConfig(cache_dir=default_cache_dir()),
    )
    with LLM(config) as llm:
        core, outputs = llm.engine.core, llm.engine._outputs
        process, seen = outputs.process, list[int]()

        def note(update: TokenUpdate) -> object:
            seen.append(len(core.in_flight))
            return process(update)

        monkeypatch.setattr(outputs, "process", note)
        llm.engine.add_request(
            GenerateRequest(prompt_token_ids=[5, 6, 7], params=SamplingParams(max_tokens=3, ignore_eos=True))
        )
        while llm.engine.has_unfinished_requests():
            core.fill()
            llm.engine.finish_step(core.in_flight[0], fills=fills)
    assert seen[:2] == [fills] * 2
