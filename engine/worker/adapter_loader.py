"""Adapters of a worker's model, from their folders to the memory of the device."""

import torch

from engine.api.errors import EngineError
from engine.config import EngineConfig
from engine.cpu.weights import PackedModel
from models import registry
from models.adapters.adapter import Adapter
from models.adapters.found import find_adapter, find_adapters
from models.decoder.adapter_loading import load_adapter
from models.decoder.adapters import DecoderAdapter
from models.decoder.model import DecoderForCausalLM
from models.decoder.virtual_rows import VirtualRows
from models.errors import ModelNotFoundError
from models.interface.causal_lm import CausalLM
from models.interface.parallel import RankGroup
from models.weights.folder import ModelFolder


class AdapterLoader:
    """Owner of the adapters in a worker, each by the digest of its content."""

    def __init__(
        self, config: EngineConfig, model: CausalLM | PackedModel, dtype: torch.dtype, ranks: RankGroup
    ) -> None:
        """Prepare for adapters of `model`. Raise EngineError if it cannot have any, though `config` names a folder."""
        if config.model.adapters_dir is not None and not isinstance(model, PackedModel | DecoderForCausalLM):
            raise EngineError(
                "--adapters-dir is not possible here: only the shared decoder computes adapters, and transformers "
                "computes this model"
            )
        self._config = config.model
        self._model = model
        self._dtype = dtype
        self._ranks = ranks
        self._digests = set[str]()

    @property
    def configured(self) -> list[str]:
        """Names of the adapters that the configuration asks for. Raise ModelNotFoundError if one is not there."""
        folder, names = self._config.adapters_dir, self._config.adapters
        if folder is None:
            return []
        found = [each.name for each in find_adapters(folder)]
        if missing := [name for name in names or () if name not in found]:
            raise ModelNotFoundError(f"{folder} has no adapter {missing[0]!r} any more")
        return [name for name in found if names is None or name in names]

    def read(self, name: str) -> DecoderAdapter | VirtualRows:
        """Read this process's part of an adapter, on any thread.

        Raise ModelError as the readers of adapters, EngineError for the name of the model.
        """
        folder, model = self._config.adapters_dir, self._model
        assert folder is not None
        assert isinstance(model, PackedModel | DecoderForCausalLM)
        if name == self._config.name:
            raise EngineError(f"--adapters-dir: the adapter {name} has the name of the model. Rename its folder.")
        path, ranks = find_adapter(folder, name), self._ranks
        whole = registry.read_config(ModelFolder(self._config.path).config())
        return load_adapter(path, whole, model.stage, self._dtype, rank=ranks.rank, ranks=ranks.size)

    def add(self, adapter: DecoderAdapter | VirtualRows) -> Adapter:
        """Have the model compute an adapter, unless it does under another name already. Call as `Worker` says."""
        assert isinstance(self._model, PackedModel | DecoderForCausalLM)
        if adapter.about.digest not in self._digests:
            self._model.add_adapter(adapter)
            self._digests.add(adapter.about.digest)
        return adapter.about

    def drop(self, digest: str) -> None:
        """Free an adapter, if it is there. No step in flight, and none to come, may use it."""
        assert isinstance(self._model, PackedModel | DecoderForCausalLM)
        if digest in self._digests:
            self._digests.remove(digest)
            self._model.drop_adapter(digest)
