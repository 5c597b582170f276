"""Conversion of GGUF files to model folders: lossless, and errors name the key or tensor at fault."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as HubTokenizer

from models.chat.format import ChatFormat
from models.chat.template_files import TemplateSources, read_templates
from models.download.conversion_check import check_conversion
from models.download.resolve import resolve_model
from models.download.wheel_source import DEFAULT_SOURCE
from models.errors import ConversionError
from models.gguf_import.convert import convert_gguf
from models.gguf_import.reader import GgufFile
from models.interface.dense_context import DenseContext
from models.registry import load_model
from models.tokenizers.tokenizer import Tokenizer
from models.weights.block_types import BLOCK_TYPES
from models.weights.folder import ModelFolder
from tests.family_templates import HERMES
from tests.tiny_gguf import VOCAB, source_tensors, write_block_gguf, write_tiny_gguf
from tests.tiny_models import make_tiny_model
from tests.tiny_tokenizer import CHAT_TEMPLATE, byte_tokenizer


def convert(file: Path) -> Path:
    folder = file.with_suffix("")
    folder.mkdir()
    convert_gguf(file, folder, lambda line: None, keep_blocks=True)
    return folder


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_every_tensor_is_restored_in_order_and_rounded_once(tmp_path: Path, bias: bool, tied: bool) -> None:
    folder = convert(write_tiny_gguf(tmp_path / "tiny.gguf", bias=bias, tied=tied))
    expected = source_tensors(bias=bias, tied=tied)
    found = load_file(folder / "model.safetensors")
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor.bfloat16()), name


def test_converted_model_computes_the_same_as_its_source(tmp_path: Path) -> None:
    converted = convert(write_tiny_gguf(tmp_path / "tiny.gguf"))
    source = make_tiny_model(tmp_path / "source", vocab=VOCAB, tied=True)
    save_file(source_tensors(), source / "model.safetensors")
    ids = torch.arange(5, 60)
    logits = []
    for folder in (converted, source):
        model = load_model(folder, torch.bfloat16, torch.device("cpu"))
        logits.append(model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention))))
    assert torch.equal(*logits)


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("llama-bpe", ["I", "'LL", "Ġtake", "Ġ", "421", "7", "Ġ(", "ÃĦpfel", ")/ĊĊ", "Ġok"]),
        ("dbrx", ["I", "'LL", "Ġtake", "Ġ", "421", "7", "Ġ(", "ÃĦpfel", ")/ĊĊ", "Ġok"]),
        ("gpt-4o", ["I'LL", "Ġtake", "Ġ", "421", "7", "Ġ(", "ÃĦpfel", ")/ĊĊ", "Ġok"]),
        ("tekken", ["I", "'LL", "Ġtake", "Ġ", "4", "2", "1", "7", "Ġ(", "ÃĦpfel", ")/ĊĊ", "Ġok"]),
        ("refact", ["I", "'", "LL", "Ġtake", "Ġ", "4", "2", "1", "7", "Ġ(", "ÃĦpfel", ")/", "ĊĊ", "Ġok"]),
    ],
)
def test_splitter_of_a_family_is_known(tmp_path: Path, name: str, pieces: list[str]) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", changed={"tokenizer.ggml.pre": name})
    tokenizer = HubTokenizer.from_file(str(convert(file) / "tokenizer.json"))
    found = tokenizer.pre_tokenizer.pre_tokenize_str("I'LL take 4217 (Äpfel)/\n\n ok")
    assert [piece for piece, _ in found] == pieces


def test_words_that_are_tokens_are_kept_whole_for_llama3(tmp_path: Path) -> None:
    whole = convert(write_tiny_gguf(tmp_path / "llama3.gguf", changed={"tokenizer.ggml.pre": "llama-bpe"}))
    assert json.loads((whole / "tokenizer.json").read_text())["model"]["ignore_merges"]


def test_qwen_splitter_keeps_letters_together_and_digits_apart(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", changed={"tokenizer.ggml.pre": "qwen2"})
    tokenizer = HubTokenizer.from_file(str(convert(file) / "tokenizer.json"))
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str("I'LL take 42 (Äpfel)\n\n ok")
    assert [piece for piece, _ in pieces] == ["I", "'LL", "Ġtake", "Ġ", "4", "2", "Ġ(", "ÃĦpfel", ")ĊĊ", "Ġok"]
    assert tokenizer.normalizer.normalize_str("A\u0308") == "Ä"


def test_configuration_agrees_with_the_file(tmp_path: Path) -> None:
    folder = convert(write_tiny_gguf(tmp_path / "tiny.gguf"))
    config = json.loads((folder / "config.json").read_text())
    assert config["rms_norm_eps"] == 1e-5
    assert (config["vocab_size"], config["max_position_embeddings"], config["head_dim"]) == (VOCAB, 512, 16)
    assert json.loads((folder / "generation_config.json").read_text()) == {
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }


@pytest.mark.parametrize(("number", "pooling"), [(None, None), (0, None), (1, "mean"), (3, "last")])
def test_pooling_of_a_model_for_embeddings_is_kept(tmp_path: Path, number: int | None, pooling: str | None) -> None:
    changed = {} if number is None else {"llama.pooling_type": number}
    folder = convert(write_tiny_gguf(tmp_path / "tiny.gguf", changed=changed))
    assert ModelFolder(folder).pooling() == pooling


def test_tokenizer_is_described_by_what_the_file_has(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", add_bos=True)
    folder = convert(file)
    info = ChatFormat.load(folder, Tokenizer.load(folder)).tokenizer_info
    assert info["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (info["bos_token"], info["eos_token"], info["add_bos_token"]) == ("<|im_start|>", "<|im_end|>", True)
    assert "<|im_start|>" in info["chat_template"]


def test_template_for_tools_is_kept_alongside_the_default(tmp_path: Path) -> None:
    folder = convert(write_tiny_gguf(tmp_path / "tiny.gguf", changed={"tokenizer.chat_template.tool_use": HERMES}))
    assert read_templates(ModelFolder(folder)) == TemplateSources(CHAT_TEMPLATE, HERMES)


def test_tokens_of_users_are_whole_and_plain(tmp_path: Path) -> None:
    bytes_ = [str(byte_tokenizer().id_to_token(id_)) for id_ in range(VOCAB - 1)]
    lists = {"tokens": [*bytes_, "ab", "<tool>"], "token_type": [3, 3, 3, *[1] * 257, 4]}
    changed = {f"tokenizer.ggml.{name}": values for name, values in lists.items()}
    tokenizer = Tokenizer.load(convert(write_tiny_gguf(tmp_path / "tiny.gguf", changed=changed)))
    assert tokenizer.encode("ab<tool>", special=False) == [VOCAB - 1, VOCAB]
    assert (tokenizer.token_bytes(VOCAB), "<tool>" in tokenizer.control_tokens) == (b"<tool>", False)


def test_tokenizer_splits_digits_and_merges(tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(convert(write_tiny_gguf(tmp_path / "tiny.gguf")))
    ids = tokenizer.encode("ab 12", special=False)
    assert [tokenizer.token_bytes(id_) for id_ in ids] == [b"ab", b" ", b"1", b"2"]


@pytest.mark.parametrize("add_bos", [False, True])
def test_raw_prompt_gets_a_bos_token_if_the_model_adds_one(tmp_path: Path, add_bos: bool) -> None:
    tokenizer = Tokenizer.load(convert(write_tiny_gguf(tmp_path / "tiny.gguf", add_bos=add_bos)))
    assert tokenizer.encode_prompt("ab") == ([1, 259] if add_bos else [259])
    assert tokenizer.encode("ab", special=True) == [259]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tokenizer.ggml.model": "t5"}, "tokenizer of type 't5'"),
        ({"tokenizer.ggml.model": "llama"}, "a list for tokenizer.ggml.scores"),
        ({"tokenizer.ggml.eot_token_id": 900}, "900 as its eot token"),
        ({"tokenizer.ggml.pre": "viking"}, "the pre-tokenizer 'viking'"),
        ({"tokenizer.ggml.eos_token_id": 900}, "900 as its eos token"),
        ({"llama.rope.scaling.type": "longrope"}, "scales its rotary positions by 'longrope'"),
        ({"llama.rope.dimension_count": 8}, "llama.rope.dimension_count"),
        (
            {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.yarn_ext_factor": 0.5},
            "llama.rope.scaling.yarn_ext_factor",
        ),
        ({"llama.embedding_length": "64"}, "llama.embedding_length, but has '64'"),
        ({"llama.attention.head_count": 0}, "llama.attention.head_count, but has 0"),
        ({"split.count": 2}, "split over several files"),
    ],
)
def test_unsupported_file_is_refused_naming_the_key(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ConversionError, match=words):
        convert(write_tiny_gguf(tmp_path / "tiny.gguf", changed=changed))


def test_other_architecture_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.gguf"
    writer = gguf.GGUFWriter(file, "mamba")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ConversionError, match="architecture 'mamba'; supported are llama, qwen2, qwen3"):
        convert(file)


def test_unknown_tensor_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=r"blk\.0\.ffn_gate_inp\.weight"):
        convert(write_tiny_gguf(tmp_path / "tiny.gguf", extra_tensor="blk.0.ffn_gate_inp.weight"))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.5, 0.999])
def test_truncated_file_is_refused(tmp_path: Path, share: float) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf")
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ConversionError, match=r"tiny\.gguf cannot be read as GGUF and may be truncated"):
        convert(file)


def test_damaged_file_is_refused_or_read(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf")
    data = file.read_bytes()
    random = np.random.default_rng(4)
    refused = 0
    for _ in range(400):
        damaged = np.frombuffer(data, np.uint8).copy()
        damaged[random.integers(0, 12_000, 3)] = random.choice([0, 1, 8, 9, 127, 255], 3)
        file.write_bytes(damaged.tobytes())
        try:
            GgufFile.open(file)
        except ConversionError:
            refused += 1
    assert 0 < refused < 400


def test_values_of_every_type_are_read(tmp_path: Path) -> None:
    file = tmp_path / "values.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    kinds = gguf.GGUFValueType
    numbers = (kinds.UINT8, kinds.INT8, kinds.UINT16, kinds.INT16, kinds.UINT32, kinds.INT32, kinds.UINT64, kinds.INT64)
    expected: dict[str, Any] = {"general.architecture": "llama", "text": "naïve", "yes": True, "list": ["a", ""]}
    expected |= {"halves": [0.5, -0.25], "flags": [True, False], "double": 1e300}
    writer.add_string("text", "naïve")
    writer.add_bool("yes", True)
    for key in ("list", "halves", "flags"):
        writer.add_array(key, expected[key])
    writer.add_float64("double", 1e300)
    for kind in numbers:
        writer.add_key_value(kind.name, 7, kind)
    writer.add_tensor("t", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = GgufFile.open(file)
    assert found.metadata == expected | {kind.name: 7 for kind in numbers}
    assert [tensor.values().tolist() for tensor in found.tensors] == [[[0, 1, 2], [3, 4, 5]]]


def test_gguf_path_as_model_name_is_converted_once(tmp_path: Path) -> None:
    file, cache, lines = write_tiny_gguf(tmp_path / "tiny.gguf"), tmp_path / "cache", list[str]()
    folder = resolve_model(str(file), cache, lines.append)
    assert folder.is_relative_to(cache)
    assert any("Converting" in line for line in lines)
    lines.clear()
    assert resolve_model(str(file), cache, lines.append) == folder
    assert lines == []
    write_tiny_gguf(file, tied=False)
    assert resolve_model(str(file), cache, lines.append) != folder


def test_gguf_file_with_missing_tensors_leaves_no_folder(tmp_path: Path) -> None:
    file = write_tiny_gguf(tmp_path / "tiny.gguf", changed={"llama.block_count": 3})
    with pytest.raises(ConversionError, match=r"missing: model\.layers\.2"):
        resolve_model(str(file), tmp_path / "cache", print)
    assert [path for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()] == []


def copy_of_the_default_model(model_path: Path, folder: Path, *, without: str) -> Path:
    folder.mkdir()
    for file in model_path.iterdir():
        if file.name != without:
            (folder / file.name).symlink_to(file)
    return folder


def test_proof_accepts_the_default_model(model_path: Path) -> None:
    check_conversion(model_path, DEFAULT_SOURCE.known)


def test_proof_refuses_q_and_k_in_the_order_of_the_file(model_path: Path, tmp_path: Path) -> None:
    folder = copy_of_the_default_model(model_path, tmp_path / "wrong", without="model.safetensors")
    tensors = load_file(model_path / "model.safetensors")
    for name, tensor in tensors.items():
        if "q_proj" in name or "k_proj" in name:
            halves = tensor.view(-1, 2, 32, tensor.shape[1])
            tensors[name] = halves.transpose(1, 2).reshape(tensor.shape).contiguous()
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ConversionError, match="unlikely"):
        check_conversion(folder, DEFAULT_SOURCE.known)


def test_proof_refuses_a_tokenizer_that_joins_digits(model_path: Path, tmp_path: Path) -> None:
    folder = copy_of_the_default_model(model_path, tmp_path / "wrong", without="tokenizer.json")
    spec = json.loads((model_path / "tokenizer.json").read_text())
    spec["pre_tokenizer"] = spec["pre_tokenizer"]["pretokenizers"][1]
    (folder / "tokenizer.json").write_text(json.dumps(spec))
    with pytest.raises(ConversionError, match="wrong ids for 'costs  42'"):
        check_conversion(folder, DEFAULT_SOURCE.known)


def test_proof_refuses_a_template_without_the_system_line(model_path: Path, tmp_path: Path) -> None:
    folder = copy_of_the_default_model(model_path, tmp_path / "wrong", without="tokenizer_config.json")
    config = json.loads((model_path / "tokenizer_config.json").read_text())
    config["chat_template"] = config["chat_template"].replace("named SmolLM", "")
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(ConversionError, match="a wrong prompt"):
        check_conversion(folder, DEFAULT_SOURCE.known)


@pytest.mark.parametrize("type_", BLOCK_TYPES)
def test_weights_in_blocks_that_are_not_finite_are_refused(tmp_path: Path, type_: str) -> None:
    file = write_block_gguf(tmp_path / "tiny.gguf", {"": type_})
    resolve_model(str(file), tmp_path / "cache", lambda line: None)
    block = BLOCK_TYPES[type_]
    for at in range(block.scales.start, block.scales.stop, 2):
        broken = write_block_gguf(tmp_path / f"{at}.gguf", {"": type_}, infinite=("blk.1.ffn_up.weight", at))
        with pytest.raises(ConversionError, match=r"weights of model\.layers\.1\.mlp\.up_proj\.weight are not finite"):
            resolve_model(str(broken), tmp_path / "cache", lambda line: None)
