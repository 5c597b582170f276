import json
from pathlib import Path

import pytest

from models.errors import ModelNotFoundError, WeightsError
from models.weights.fingerprint import SAMPLE, model_fingerprint

LONG = 4 * SAMPLE


def write(path: Path, tensors: dict[str, bytes], *, file: str = "model.safetensors", config: str = "{}") -> Path:
    header, offset = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "BF16", "shape": [len(data) // 2], "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.mkdir(exist_ok=True)
    (path / file).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(tensors.values()))
    (path / "config.json").write_text(config)
    return path


def changed(index: int) -> bytes:
    data = bytearray(LONG)
    data[index] = 1
    return bytes(data)


def test_equal_models_have_equal_fingerprints_wherever_they_lie(tmp_path: Path) -> None:
    tensors = {"a": bytes(LONG), "b": b"xy"}
    first = model_fingerprint(write(tmp_path / "one", tensors, config='{"x": 1, "y": 2}'))
    assert first == model_fingerprint(write(tmp_path / "two", tensors, config='{"y": 2,\n "x": 1}'))
    assert len(bytes.fromhex(first)) == 32


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": changed(0), "b": b"xy"},
        {"a": changed(LONG - 1), "b": b"xy"},
        {"a": bytes(LONG), "b": b"xz"},
        {"a": bytes(LONG), "c": b"xy"},
        {"a": bytes(LONG), "b": b"xyxy"},
        {"a": bytes(LONG)},
    ],
    ids=["head", "tail", "short tensor", "name", "shape", "one less"],
)
def test_other_weights_have_another_fingerprint(tmp_path: Path, tensors: dict[str, bytes]) -> None:
    base = model_fingerprint(write(tmp_path / "base", {"a": bytes(LONG), "b": b"xy"}))
    assert model_fingerprint(write(tmp_path / "other", tensors)) != base


def test_another_configuration_has_another_fingerprint(tmp_path: Path) -> None:
    base = model_fingerprint(write(tmp_path, {"a": b"xy"}, config='{"rope_theta": 1}'))
    assert model_fingerprint(write(tmp_path, {"a": b"xy"}, config='{"rope_theta": 2}')) != base


def test_every_shard_counts(tmp_path: Path) -> None:
    base = model_fingerprint(write(tmp_path, {"a": b"xy"}, file="model-1.safetensors"))
    assert model_fingerprint(write(tmp_path, {"b": b"xy"}, file="model-2.safetensors")) != base


@pytest.mark.parametrize("length", [0, 7, 30, -1])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    file = write(tmp_path, {"a": bytes(LONG)}) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(WeightsError, match="truncated"):
        model_fingerprint(tmp_path)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelNotFoundError, match="safetensors"):
        model_fingerprint(tmp_path)
