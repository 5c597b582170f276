"""Long texts with the default tokenizer, and the benchmark's model with a window of 131,072 tokens."""

import random
from pathlib import Path

import pytest

from app.load.words import WORDS
from bench.long_window_model import WINDOW, write_long_window_model
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from models.errors import TextTooLongError
from models.tokenizers import slices
from models.tokenizers.tokenizer import Tokenizer
from tests.sizes import MANY_PROCESSES


def test_default_tokenizer_slices_long_texts_exactly(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, chance = Tokenizer.load(model_path), random.Random(3)
    pieces = [*WORDS, "世界，", "  \n\n\t", "<|im_end|>", "don't", "1234", "🙂", "——", "x" * 300, ".\r\n"]
    text = "".join(chance.choice(pieces) + chance.choice(["", " ", " ", "  ", "\n"]) for _ in range(60_000))
    sliced = [tokenizer.encode(text, special=special) for special in (False, True)]
    monkeypatch.setattr(slices, "SLICE", len(text))
    assert sliced == [tokenizer.encode(text, special=special) for special in (False, True)]


def test_refused_text_is_encoded_no_further_than_its_window(model_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, encoded = Tokenizer.load(model_path, 16_384), list[int]()
    encode = tokenizer._encode_special

    def count(text: str) -> list[int]:
        encoded.append(len(text))
        return encode(text)

    monkeypatch.setattr(tokenizer, "_encode_special", count)
    for text in (" " * 50_000 + "the " * 880_000, "a" * 900_000, "世" * 900_000):
        encoded.clear()
        with pytest.raises(TextTooLongError):
            tokenizer.encode_prompt(text)
        assert sum(encoded) < 400_000
    assert tokenizer.longest_text < 50_000 + 4 * 880_000


@MANY_PROCESSES
def test_long_window_model_answers(model_path: Path, tmp_path: Path) -> None:
    folder = write_long_window_model(model_path, tmp_path / "long")
    config = EngineConfig(
        model=ModelConfig(path=folder, name="long"),
        cache=CacheConfig(tiers=None, secret=b"secret", kv_memory=256 << 20),
    )
    with LLM(config) as llm:
        [answer] = llm.generate([" ".join(WORDS * 20)], SamplingParams(max_tokens=3, ignore_eos=True))
        assert answer.outputs[0].usage.completion_tokens == 3
        assert llm.engine.processor.limits.window == WINDOW
