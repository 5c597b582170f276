"""Descriptions of tokenizers, from the files of a model folder."""

import json
from pathlib import Path
from typing import Any

from models.chat.format import ChatFormat
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer


def info_of(folder: Path, config: dict[str, Any] | None) -> dict[str, Any]:
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": [2, 0]}')
    if config is not None:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return dict(ChatFormat.load(folder, Tokenizer.load(folder)).tokenizer_info)


def test_info_is_the_configuration(tmp_path: Path) -> None:
    assert info_of(tmp_path, TOKENIZER_CONFIG) == TOKENIZER_CONFIG


def test_tokens_are_described_by_their_text(tmp_path: Path) -> None:
    token = {"__type": "AddedToken", "content": "<|im_end|>", "lstrip": False, "special": True}
    extra = {"eos_token": token, "added_tokens_decoder": {"2": token}, "additional_special_tokens": [token, "x"]}
    info = info_of(tmp_path, TOKENIZER_CONFIG | extra)
    assert info["eos_token"] == "<|im_end|>"
    assert info["added_tokens_decoder"] == {"2": "<|im_end|>"}
    assert info["additional_special_tokens"] == ["<|im_end|>", "x"]


def test_paths_of_another_machine_are_left_out(tmp_path: Path) -> None:
    paths = {"vocab_file": "/home/x", "merges_file": None, "name_or_path": "/home/x", "tokenizer_file": "/x"}
    assert info_of(tmp_path, TOKENIZER_CONFIG | paths) == TOKENIZER_CONFIG


def test_template_is_the_one_in_use(tmp_path: Path) -> None:
    named = [{"name": "tools", "template": "a"}, {"name": "default", "template": "b"}]
    assert info_of(tmp_path, TOKENIZER_CONFIG | {"chat_template": named})["chat_template"] == "b"
    (tmp_path / "chat_template.jinja").write_text(CHAT_TEMPLATE)
    assert info_of(tmp_path, TOKENIZER_CONFIG | {"chat_template": named})["chat_template"] == CHAT_TEMPLATE


def test_model_without_configuration_has_class_and_tokens(tmp_path: Path) -> None:
    assert info_of(tmp_path, None) == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
    }
