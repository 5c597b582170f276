"""Packed weights in the cache directory: a start maps what an earlier one has packed."""

import hashlib
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch

from engine.config import EngineConfig
from engine.cpu.build import KernelBuild, KernelBuildError, ready_kernels
from engine.cpu.format_sizes import WEIGHTS
from engine.cpu.instruction_set import choose_instruction_set
from engine.cpu.library import Kernels
from engine.cpu.pack_claim import PackClaim
from engine.cpu.pack_file import MappedPack, PackError, PackStoppedError
from engine.cpu.pack_folder import NoRoomError, PackFolder
from engine.cpu.weights import PackedModel
from engine.worker.native.selection import log_native_step, native_refusal
from models.decoder.model import DecoderForCausalLM
from models.errors import ModelError
from models.interface.partition import Stage
from models.layers.kinds import TORCH_LAYERS
from models.registry import load_model, read_config
from models.weights.fingerprint import model_fingerprint
from models.weights.folder import ModelFolder

logger = logging.getLogger(__name__)

LEAST_BYTES: Final = 64 << 20
"""Smaller weights are packed in less time than it takes to find a file."""
DELAY_SECONDS: Final = 2.0
"""Time after the load in which nothing is written, because the rest of the start needs the disk and the cores."""
PAUSE_SECONDS: Final = 0.01
"""Pause after 4 MiB, so that answers keep most of the memory's and the disk's speed."""
MOST_WAIT_SECONDS: Final = 600.0
"""Longest wait for the weights that another process packs."""

_ROOT: Final = Path(__file__).parents[3]
_CODE: Final = ("engine/cpu", "models/decoder", "models/families", "models/pangu", "models/weights")
"""Folders of the code between the files of a model and its panels."""


class KeptWeights:
    """The packed weights of one model, or of one stage of it, in the cache directory."""

    def __init__(self, config: EngineConfig, cache_dir: Path, stage: Stage | None) -> None:
        """Touch nothing. stage: the layers; None for all."""
        self._config = config
        self._cache_dir = cache_dir
        self._stage = stage
        self._folder = PackFolder(cache_dir, config.device.packed_size)
        self._source: dict[str, Any] = {}
        self._is_damaged = False
        self._stop = threading.Event()
        self._writer: threading.Thread | None = None
        self._claim: PackClaim | None = None

    def load(self, *, threads: int, progress: Callable[[str], None]) -> PackedModel | None:
        """Map the weights, once another process that packs them is done. Return None if they have to be packed.

        Errors of the model loader propagate. Called before the weights are read in another way.
        """
        config = self._config
        # Not later: weights that are packed now must not get the name of files that replace theirs.
        self._source = self._describe_source()
        try:
            found = self._find()
            if found is None and self._wait_for_claim(progress):
                found = self._find()
        except KernelBuildError:
            return None
        if found is None:
            return None
        self._release()
        build, pack = found
        # Tensors without memory. Only their shapes and the types of blocks are read.
        model = load_model(
            config.model.path,
            torch.bfloat16,
            torch.device("meta"),
            TORCH_LAYERS,
            window=config.model.max_model_len,
            keep_packed=True,
            stage=self._stage,
        )
        assert isinstance(model, DecoderForCausalLM)
        weights = WEIGHTS[config.model.quantization]
        log_native_step(build, model, weights, threads)
        return PackedModel(Kernels(build), model.config, model, threads=threads, weights=weights, kept=pack)

    def keep(self, packed: PackedModel | None) -> None:
        """Begin to write weights that were packed just now, unless they are small. Return at once.

        packed: None if the weights cannot be packed.
        """
        if packed is None or packed.nbytes < LEAST_BYTES:
            self._release()
        else:
            self._writer = threading.Thread(target=self._write, args=(packed,), name="keep-weights", daemon=True)
            self._writer.start()

    def wait_until_written(self) -> None:
        """Wait for the end of the write that `keep` began."""
        if self._writer is not None:
            self._writer.join()

    def close(self) -> None:
        """Stop a write, and delete the unfinished file."""
        self._stop.set()
        self.wait_until_written()
        self._release()

    def _find(self) -> tuple[KernelBuild, MappedPack] | None:
        """Return the kernels and the pack for them; None if one of them is missing. Raise KernelBuildError."""
        build = ready_kernels(choose_instruction_set(self._config.device.cpu_kernels), self._cache_dir)
        pack = None if build is None else self._open(build)
        return None if build is None or pack is None else (build, pack)

    def _wait_for_claim(self, progress: Callable[[str], None]) -> bool:
        """Claim the weights, or wait for the process that packs them. Return whether this waited.

        Kernels are not part of the claim, because the first start compiles them after it.
        """
        name = self._config.model.name
        source = json.dumps(self._source | {"kernels": self._config.device.cpu_kernels}, sort_keys=True)
        self._claim = self._folder.claim(source)
        try:
            return self._claim.take(
                MOST_WAIT_SECONDS,
                self._stop.wait,
                lambda: progress(f"waiting for another process that packs the weights of {name}"),
            )
        except OSError:  # a read-only folder, where nothing is kept
            return False

    def _release(self) -> None:
        if self._claim is not None:
            self._claim.release()

    def _open(self, build: KernelBuild) -> MappedPack | None:
        try:
            return self._folder.open(self._identity(build))
        except PackError as error:
            self._is_damaged = True
            logger.warning("the kept weights of %s are packed again: %s", self._config.model.name, error)
        return None

    def _write(self, packed: PackedModel) -> None:
        try:
            if self._stop.wait(DELAY_SECONDS):
                return
            is_new = self._folder.keep(
                identity=self._identity(packed.kernels.build),
                label=self._config.model.name,
                vectors=packed.checkpoint_vectors,
                panels=packed.panels,
                wait=lambda: self._stop.wait(PAUSE_SECONDS),
                is_damaged=self._is_damaged,
            )
        except PackStoppedError:
            return
        except (NoRoomError, OSError) as error:
            logger.info("the packed weights are not kept for later starts: %s", error)
            return
        finally:
            self._release()
        if is_new:
            logger.info("the packed weights are kept in %s: later starts map them", self._folder.path)

    def _identity(self, build: KernelBuild) -> str:
        """Name everything that the bytes of the panels depend on."""
        kernels = f"{build.instruction_set.name}-{build.digest}"
        return json.dumps(self._source | {"kernels": kernels}, sort_keys=True)

    def _describe_source(self) -> dict[str, Any]:
        """Name all of that but the kernels. Raise ModelError or OSError."""
        config, stage = self._config, self._stage
        files = [(file.name, file.stat()) for file in ModelFolder(config.model.path).weight_files()]
        return {
            "model": model_fingerprint(config.model.path),
            # The fingerprint reads only some of each tensor.
            "files": [(name, found.st_size, found.st_mtime_ns) for name, found in files],
            "code": _code_digest(),
            "torch": torch.__version__,
            "weights": config.model.quantization,
            "stage": stage and (stage.layers.start, stage.layers.stop, stage.is_first, stage.is_last),
        }


def kept_weights(config: EngineConfig, stage: Stage | None) -> KeptWeights | None:
    """Return the kept weights of the model; None where the native step does not serve, or none are wanted.

    stage: the layers of this process; None for all.

    Raise EngineError if the settings name an instruction set that this CPU does not have.
    """
    cache_dir = config.device.cache_dir
    if cache_dir is None or config.device.packed_size == 0:
        return None
    try:
        shape = read_config(ModelFolder(config.model.path).config())
    except ModelError:
        return None
    return None if native_refusal(config, shape) else KeptWeights(config, cache_dir, stage)


def _code_digest() -> str:
    digest = hashlib.sha256()
    for file in sorted(file for folder in _CODE for file in (_ROOT / folder).glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
