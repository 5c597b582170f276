"""Packed weights that a start maps from the cache directory: the same bits, and never those of anything else."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.instruction_set import usable_instruction_sets
from engine.cpu.pack_folder import PackFolder
from engine.cpu.weights import PackedModel
from engine.worker.native import kept_weights
from engine.worker.worker import Worker
from models.gguf_import.convert import convert_gguf
from models.weights.block_types import BLOCK_TYPES
from tests.family_models import save_family
from tests.native_rig import KernelsFor, NativeRig
from tests.tiny_gguf import MIXES, write_block_gguf

TOKENS = torch.randint(3, 250, (96,), generator=torch.Generator().manual_seed(5)).tolist()
ANOTHER = usable_instruction_sets()[-1].name
"""The slowest instruction set of this machine."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    return folder


def check_same_bits(kernels: KernelsFor, folder: Path, weights: str) -> None:
    packed = NativeRig(kernels("auto"), folder, num_blocks=4, weights=weights)
    packs = PackFolder(folder.parent / "cache")
    assert packs.keep(
        identity="identity",
        label="tiny",
        vectors=packed.model.checkpoint_vectors,
        panels=packed.model.panels,
        wait=lambda: False,
    )
    kept = packs.open("identity")
    assert kept is not None
    mapped = NativeRig(kernels("auto"), folder, num_blocks=4, weights=weights, kept=kept)
    assert mapped.model.mapped_nbytes == mapped.model.nbytes == packed.model.nbytes
    assert mapped.model.numerics == packed.model.numerics
    expected = packed.rows(TOKENS, 16)
    assert expected.isfinite().all()
    assert torch.equal(mapped.rows(TOKENS, 16).view(torch.int32), expected.view(torch.int32))


@pytest.mark.parametrize("weights", ["bfloat16", "int8", "int4"])
@pytest.mark.parametrize("name", ["qwen2, tied", "qwen3", "gemma3", "ministral3"])
def test_mapped_weights_give_the_same_bits(kernels: KernelsFor, folder: Path, name: str, weights: str) -> None:
    check_same_bits(kernels, save_family(folder, name), weights)


@pytest.mark.parametrize("types", [*({"": type_} for type_ in BLOCK_TYPES), MIXES["Q4_K_M"]], ids=str)
def test_mapped_blocks_give_the_same_bits(kernels: KernelsFor, folder: Path, types: dict[str, str]) -> None:
    convert_gguf(write_block_gguf(folder.with_suffix(".gguf"), types), folder, lambda _: None, keep_blocks=True)
    check_same_bits(kernels, folder, "bfloat16")


@pytest.fixture
def config(folder: Path, kernels: KernelsFor, monkeypatch: pytest.MonkeyPatch) -> EngineConfig:
    """Return settings with an own cache directory, where small weights are kept too."""
    monkeypatch.setattr(kept_weights, "LEAST_BYTES", 1)
    monkeypatch.setattr(kept_weights, "DELAY_SECONDS", 0.0)
    cache_dir = folder.parent / "cache"
    cache_dir.mkdir()
    (cache_dir / "kernels").symlink_to(kernels("auto").build.path.parent)
    kernels(ANOTHER)
    return EngineConfig(
        model=ModelConfig(path=save_family(folder, "qwen2"), name="tiny", quantization="int8"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        device=DeviceConfig(cache_dir=cache_dir),
    )


def is_mapped(config: EngineConfig) -> bool:
    """Start once, wait for the file of packed weights, and return whether the start mapped one."""
    worker = Worker(config)
    worker.load()
    model, kept = worker.model, worker._kept
    assert isinstance(model, PackedModel)
    if kept is not None:
        kept.wait_until_written()
    worker.close()
    return model.mapped_nbytes > 0


def files(config: EngineConfig) -> list[Path]:
    assert config.device.cache_dir is not None
    return [pack.path for pack in PackFolder(config.device.cache_dir).packs()]


def test_second_start_maps_what_the_first_one_packed(config: EngineConfig) -> None:
    assert [is_mapped(config) for _ in range(3)] == [False, True, True]
    assert len(files(config)) == 1


def test_weights_of_replaced_files_are_not_mapped(config: EngineConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = kept_weights.KeptWeights.keep

    def keep_after_change(kept: kept_weights.KeptWeights, packed: PackedModel) -> None:
        for file in config.model.path.glob("*.safetensors"):
            os.utime(file, (1, 1))
        keep(kept, packed)

    with monkeypatch.context() as patch:
        patch.setattr(kept_weights.KeptWeights, "keep", keep_after_change)
        assert not is_mapped(config)
    assert not is_mapped(config)


@pytest.mark.parametrize(
    "changes", [{"quantization": "int4"}, {"quantization": "none"}, {"cpu_kernels": ANOTHER}], ids=str
)
def test_weights_for_other_settings_are_not_mapped(config: EngineConfig, changes: dict[str, str]) -> None:
    is_mapped(config)
    assert not is_mapped(config.with_fields(**changes))
    assert is_mapped(config)
    assert len(files(config)) == 2


def test_weights_of_a_changed_file_are_not_mapped(config: EngineConfig) -> None:
    is_mapped(config)
    (file,) = config.model.path.glob("*.safetensors")
    tensors = load_file(file)
    # The middle of a tensor, which the fingerprint does not read.
    tensors["model.embed_tokens.weight"].view(-1)[tensors["model.embed_tokens.weight"].numel() // 2] += 1
    save_file(tensors, file, {"format": "pt"})
    assert not is_mapped(config)


class TwoStarts:
    """Two workers that start at the same time. The second one finds the first one packing."""

    def __init__(self, config: EngineConfig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_second_waiting = False
        keep, packed = kept_weights.KeptWeights.keep, list[PackedModel | None]()
        self.first, self.second = Worker(config), Worker(config, progress=self._note)
        with monkeypatch.context() as patch:
            patch.setattr(kept_weights.KeptWeights, "keep", lambda _, model: packed.append(model))
            self.first.load()
        kept = self.first._kept
        assert kept is not None
        self._keep: Callable[[], None] = partial(keep, kept, *packed)

    def _note(self, progress: str) -> None:
        if progress.startswith("waiting for another process"):
            self.is_second_waiting = True
            self._keep()

    def load_second(self) -> int:
        """Load the second worker, and return the bytes that it maps."""
        self.second.load()
        assert isinstance(self.second.model, PackedModel)
        mapped = self.second.model.mapped_nbytes
        self.second.close()
        self.first.close()
        return mapped


def test_worker_waits_for_the_weights_that_another_one_packs(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = TwoStarts(config, monkeypatch)
    assert starts.load_second() > 0
    assert starts.is_second_waiting
    assert len(files(config)) == 1


@pytest.mark.parametrize("least", [None, 1 << 40], ids=["no room", "small weights"])
def test_worker_packs_where_another_one_keeps_nothing(
    config: EngineConfig, monkeypatch: pytest.MonkeyPatch, least: int | None
) -> None:
    if least is not None:
        monkeypatch.setattr(kept_weights, "LEAST_BYTES", least)
    starts = TwoStarts(config if least is not None else config.with_fields(packed_size=1), monkeypatch)
    assert starts.load_second() == 0
    assert starts.is_second_waiting


def test_failed_load_makes_no_worker_wait(config: EngineConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    failed = Worker(config)
    with monkeypatch.context() as patch:
        patch.setattr("engine.worker.worker.pack_for_native", fail)
        with pytest.raises(MemoryError):
            failed.load()
    progress = list[str]()
    worker = Worker(config, progress=progress.append)
    worker.load()
    worker.close()
    assert not any("waiting" in each for each in progress)


def flip_a_bit_of(place: int) -> Callable[[Path], None]:
    def flip(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.seek(place, os.SEEK_SET if place >= 0 else os.SEEK_END)
            (byte,) = opened.read(1)
            opened.seek(-1, os.SEEK_CUR)
            opened.write(bytes([byte ^ 4]))

    return flip


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 4096)


def empty(file: Path) -> None:
    os.truncate(file, 0)


@pytest.mark.parametrize(
    "damage",
    [flip_a_bit_of(-1), flip_a_bit_of(-70_000), flip_a_bit_of(3), flip_a_bit_of(100), cut, empty],
    ids=["last bit", "bit of a panel", "magic", "header", "cut", "empty"],
)
def test_damaged_file_is_packed_again(
    config: EngineConfig, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    is_mapped(config)
    damage(*files(config))
    assert not is_mapped(config)
    assert "the kept weights of tiny are packed again" in caplog.text
    assert is_mapped(config)


@pytest.mark.parametrize("size", [0, 1])
def test_nothing_is_kept_without_room(config: EngineConfig, size: int) -> None:
    config = config.with_fields(packed_size=size)
    assert [is_mapped(config), is_mapped(config)] == [False, False]
    assert files(config) == []


def test_pool_leaves_room_for_mapped_weights(config: EngineConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    is_mapped(config)
    worker = Worker(config)
    monkeypatch.setattr(worker._device, "available_memory", lambda: 1 << 30)
    worker.load()
    assert isinstance(worker.model, PackedModel)
    assert worker.available_memory() == (1 << 30) - worker.model.nbytes
    worker.close()
