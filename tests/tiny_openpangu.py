"""Small openPangu-Embedded checkpoints in the format of the published ones: names, shards, tokenizer and template.

The tokenizer is a SentencePiece model of a few hundred pieces with openPangu's control tokens.
"""

import io
import json
import math
from pathlib import Path
from typing import Any, Final

import sentencepiece
import torch
from safetensors.torch import save_file

from models.pangu.presets import OPENPANGU_EMBEDDED_1B, OPENPANGU_EMBEDDED_7B
from tests.tiny_models import tiny_tensors

CONTROL = [*(f"[unused{number}]" for number in range(34)), "<|User|>:", "<|Bot|>:"]
WORDS = [
    "hello world this is a test of what comes next",
    "the quick brown fox jumps over the lazy dog and thinks about it",
    "系统：用户：助手：工具：方法：你好，世界。",
    "you are a helpful assistant /no_think /auto_think 1 2 3 4 5 6 7 8 9 0",
]
THOUGHT, ANSWER = "the quick brown fox", "hello world 你好"
PIECES = 600
HEAD_DIM = 128
INV_FREQ = HEAD_DIM // 2
OPENPANGU: Final = (
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}{{ '[unused9]系统：[unused10]' }}{% endif %}"
    "{% if message['role'] == 'system' %}{{ '[unused9]系统：' + message['content'] + '[unused10]' }}{% endif %}"
    "{% if message['role'] == 'assistant' %}{{'[unused9]助手：' + message['content'] + '[unused10]'}}{% endif %}"
    "{% if message['role'] == 'tool' %}{{'[unused9]工具：' + message['content'] + '[unused10]'}}{% endif %}"
    "{% if message['role'] == 'function' %}{{'[unused9]方法：' + message['content'] + '[unused10]'}}{% endif %}"
    "{% if message['role'] == 'user' %}{{'[unused9]用户：' + message['content'] + '[unused10]'}}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '[unused9]助手：' }}{% endif %}"
)


def sentencepiece_model() -> bytes:
    """Train a BPE model with byte fallback, like openPangu's. Every call returns the same bytes."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 50),
        model_writer=written,
        model_type="bpe",
        vocab_size=PIECES,
        hard_vocab_limit=False,
        byte_fallback=True,
        character_coverage=1.0,
        user_defined_symbols=CONTROL,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        num_threads=1,
        minloglevel=2,
    )
    return written.getvalue()


def pangu_config(*, large: bool = True, layers: int = 2, positions: int = 4096) -> dict[str, Any]:
    """Make a small version of the 7B's configuration (`large`) or the 1B's. The head size is the real one."""
    return (OPENPANGU_EMBEDDED_7B if large else OPENPANGU_EMBEDDED_1B) | {
        "hidden_size": 2 * HEAD_DIM,
        "intermediate_size": 4 * HEAD_DIM,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": positions,
        "vocab_size": PIECES,
        "torch_dtype": "float32",
    }


def random_tensors(config: dict[str, Any], seed: int = 0) -> dict[str, torch.Tensor]:
    """Make random tensors under the names of the published checkpoints, including the unused rotary tables."""
    tensors = tiny_tensors(
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        vocab=config["vocab_size"],
        bias=True,
        tied=config["tie_word_embeddings"],
        head_dim=HEAD_DIM,
        seed=seed,
    )
    if config["tie_word_embeddings"]:
        # A tied embedding is also the head, and needs the head's scale to keep the logits small.
        tensors["model.embed_tokens.weight"] /= math.sqrt(config["hidden_size"])
    for layer in range(config["num_hidden_layers"]):
        tensors[f"model.layers.{layer}.self_attn.rotary_emb.inv_freq"] = torch.rand(INV_FREQ)
    return tensors


def write_openpangu(path: Path, config: dict[str, Any], tensors: dict[str, torch.Tensor], *, shards: int = 2) -> Path:
    """Write a model folder in the published layout.

    shards: 1 writes model.safetensors, as for the 1B. More write an index too, as for the 7B.
    """
    path.mkdir(parents=True, exist_ok=True)
    model = sentencepiece_model()
    (path / "tokenizer.model").write_bytes(model)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = {text: int(pieces.piece_to_id(text)) for text in ("<unk>", "<s>", "</s>", *CONTROL)}
    ends = {"bos_token_id": 1, "pad_token_id": 0, "eos_token_id": ids["[unused10]"]}
    _write(path / "config.json", config | ends)
    _write(
        path / "generation_config.json",
        {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 0.8, **ends},
    )
    _write(path / "tokenizer_config.json", _tokenizer_config(ids))
    _write_tensors(path, tensors, shards)
    return path


def write_thinking_openpangu(path: Path) -> Path:
    """Write a model of one layer that answers every prompt with THOUGHT and ANSWER in openPangu's format.

    After /no_think the thought is empty. Each token's embedding predicts the next token. Attention detects /no_think,
    and the MLP detects /no_think together with the start of a thought.
    """
    config = pangu_config(layers=1)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model())
    start, end, stop = (int(pieces.piece_to_id(f"[unused{number}]")) for number in (16, 17, 10))
    last = pieces.encode("助手：")[-1]
    chain = [last, start, *pieces.encode(THOUGHT), end, *pieces.encode(ANSWER), stop]
    assert len(set(chain)) == len(chain)
    quiet = set(pieces.encode("a /no_think")) - set(pieces.encode("a /auto_think"))
    tensors = {name: torch.zeros_like(tensor) for name, tensor in random_tensors(config).items()}
    for name in tensors:
        if name.endswith("norm.weight"):
            tensors[name].fill_(1.0)
    asked, seen, begun, both = range(4)
    embedding, head = tensors["model.embed_tokens.weight"], tensors["lm_head.weight"]
    embedding[:, 4:] = torch.randint(0, 2, embedding[:, 4:].shape, generator=torch.Generator().manual_seed(1)) * 2.0 - 1
    embedding[list(quiet), asked] = 16.0
    embedding[start, begun] = 16.0
    head[chain[1:], 4:] = 0.2 * embedding[chain[:-1], 4:]
    head[end, both] = 60.0
    tensors["model.layers.0.self_attn.v_proj.weight"][0, asked] = 1.0
    tensors["model.layers.0.self_attn.o_proj.weight"][seen, 0] = 20.0
    tensors["model.layers.0.mlp.gate_proj.weight"][0, begun] = 1.0
    tensors["model.layers.0.mlp.up_proj.weight"][0, seen] = 1.0
    tensors["model.layers.0.mlp.down_proj.weight"][both, 0] = 0.1
    return write_openpangu(path, config, tensors)


def _tokenizer_config(ids: dict[str, int]) -> dict[str, Any]:
    plain = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    return {
        "add_bos_token": True,
        "add_eos_token": False,
        "add_prefix_space": True,
        "added_tokens_decoder": {str(id_): {"content": text, **plain} for text, id_ in ids.items()},
        "auto_map": {"AutoTokenizer": ["tokenization_openpangu.PanguTokenizer", None]},
        "bos_token": "<s>",
        "clean_up_tokenization_spaces": False,
        "eos_token": "[unused10]",
        "legacy": True,
        "pad_token": "<unk>",
        "tokenizer_class": "PanguTokenizer",
        "unk_token": "<unk>",
        "chat_template": OPENPANGU,
    }


def _write_tensors(path: Path, tensors: dict[str, torch.Tensor], shards: int) -> None:
    if shards == 1:
        save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
        return
    weight_map = dict[str, str]()
    for shard in range(shards):
        name = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {key: tensors[key] for key in list(tensors)[shard::shards]}
        save_file(part, path / name, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(part, name)
    total = sum(tensor.numel() * tensor.itemsize for tensor in tensors.values())
    _write(path / "model.safetensors.index.json", {"metadata": {"total_size": total}, "weight_map": weight_map})


def _write(file: Path, value: dict[str, Any]) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
