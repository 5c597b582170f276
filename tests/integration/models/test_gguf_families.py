"""Networks of GGUF files, of each architecture: the logits of transformers for the same weights."""

from pathlib import Path
from typing import Any

import gguf
import pytest
import torch

from models.download.gguf_head import read_head
from models.errors import ConversionError
from models.gguf_import.convert import convert_gguf
from models.interface.dense_context import DenseContext
from models.registry import load_model
from tests.gguf_families import FAMILIES, llama3_divisors, their_logits, write_family
from tests.tiny_gguf import SHAPE, VOCAB, write_tiny_gguf


def converted(file: Path) -> Path:
    folder = file.with_suffix("")
    folder.mkdir()
    convert_gguf(file, folder, lambda line: None, keep_blocks=True)
    return folder


@torch.inference_mode()
def our_logits(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    model = load_model(folder, torch.float32, torch.device("cpu"))
    return model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_of_a_file_match_transformers(tmp_path: Path, name: str) -> None:
    file = write_family(tmp_path, name)
    ids = torch.randint(3, VOCAB, (100,), generator=torch.Generator().manual_seed(2))
    expected = their_logits(tmp_path / "source", ids)
    torch.testing.assert_close(our_logits(converted(file), ids), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["llama 3", "phi3, long", "gemma3"])
def test_file_is_judged_before_its_tensors_are_there(tmp_path: Path, name: str) -> None:
    file = write_family(tmp_path, name)
    whole, start = read_head(file), gguf.GGUFReader(file).data_offset
    with file.open("r+b") as stream:
        size = stream.seek(0, 2)
        stream.truncate(start)
        stream.truncate(size)
    assert read_head(file) == whole


def test_unknown_divisors_of_frequencies_are_refused(tmp_path: Path) -> None:
    plain = {"rope_freqs.weight": llama3_divisors(SHAPE["hidden"] // SHAPE["heads"]) * 1.01}
    with pytest.raises(ConversionError, match=r"divisors in rope_freqs\.weight"):
        converted(write_tiny_gguf(tmp_path / "tiny.gguf", plain=plain))


@pytest.mark.parametrize(("architecture", "layers"), [("gemma2", 46), ("gemma3", 62)])
def test_largest_gemma_scales_queries_by_another_width(tmp_path: Path, architecture: str, layers: int) -> None:
    keys = {f"{architecture}.block_count": layers, f"{architecture}.attention.key_length": 32}
    file = write_tiny_gguf(tmp_path / "tiny.gguf", architecture=architecture, changed=keys, tensors={})
    assert '"query_pre_attn_scalar": 16' in (converted(file) / "config.json").read_text()


@pytest.mark.parametrize(
    ("architecture", "changed", "words"),
    [
        ("gemma3", {"gemma3.attention.sliding_window_pattern": [True]}, r"\[True\] as its sliding_window_pattern"),
        ("mistral3", {"mistral3.attention.temperature_scale": 0.1}, "mistral3.attention.temperature_scale"),
    ],
)
def test_inconsistent_file_is_refused(tmp_path: Path, architecture: str, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ConversionError, match=words):
        converted(write_tiny_gguf(tmp_path / "tiny.gguf", architecture=architecture, changed=changed, tensors={}))
