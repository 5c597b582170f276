"""A tiny model with the marks of reasoning and of calls as tokens, on an engine whose steps run ahead."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from engine.request.request import Request
from tests.conftest import default_cache_dir
from tests.leaks import assert_no_leaks
from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizer import BYTE_VOCAB, CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

THINK, ANSWER, CALL, END = range(BYTE_VOCAB, BYTE_VOCAB + 4)
MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
TEMPLATE = CHAT_TEMPLATE + "{% for tool_call in calls %}<tool_call>{{ tool_call.arguments }}</tool_call>{% endfor %}"
COUNT = 60
PROMPTS = [[*(5 + (number * 31 + at * 7) % 200 for at in range(30 + 40 * number))] for number in range(2)]


def marked_model(path: Path, **shape: Any) -> Path:
    """Write the model to `path`. shape: arguments of `make_tiny_model`."""
    shape = {"hidden": 128, "heads": 2, "kv_heads": 1, **shape}
    make_tiny_model(path, vocab=BYTE_VOCAB + len(MARKS), seed=3, **shape)
    library = byte_tokenizer()
    library.add_tokens([AddedToken(mark, special=True, normalized=False) for mark in MARKS])
    library.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": TEMPLATE}))
    return path


def config_of(model: Path, *, blocks: int = 60, **more: Any) -> EngineConfig:
    block_nbytes = 2 * 2 * 64 * 64 * 2
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret", kv_memory=blocks * block_nbytes, prefix_cache=False),
    )
    return config.with_fields(**{"cache_dir": default_cache_dir(), "prompt_lookup": False, **more})


def ask(
    llm: LLM,
    prompts: Sequence[Sequence[int]],
    ways: Sequence[SamplingParams],
    produced: Sequence[int] = (),
    count: int = COUNT,
) -> list[list[int]]:
    """Return the first `count` tokens of the answers to all prompts in all ways. They are computed together."""
    requests: list[Request] = [
        llm.engine.add_request(
            GenerateRequest(prompt_token_ids=prompt, params=replace(each, max_tokens=count), produced=produced)
        )
        for prompt in prompts
        for each in ways
    ]
    step = None
    while step is not None or llm.engine.has_unfinished_requests():
        step = step or llm.engine.core.begin_step()
        if step is not None:
            following = None if step.output.is_awaited else llm.engine.core.begin_step()
            llm.engine.finish_step(step)
            step = following
    assert_no_leaks(llm.engine)
    return [request.output_token_ids for request in requests]
