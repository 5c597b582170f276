"""Descriptions of the served model, as Ollama's clients list and show models."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from app.apis.ollama.model_name import tagged_name
from app.apis.ollama.timestamps import timestamp
from app.host.backend import Backend
from models.errors import ModelError
from models.weights.folder import ModelFolder
from models.weights.parameter_count import count_parameters

FORMATS: Final = {"bfloat16": "BF16", "float32": "F32"}
QUANTIZED_FORMATS: Final = {"int8": "Q8_0", "int4": "Q4_0"}
"""llama.cpp's names for weights in groups of 32 with a 16-bit scale."""

NEVER: Final = "9999-12-31T23:59:59Z"
LABEL_WIDTH: Final = 30
"""Width of the first column of `parameters`, which clients split at white space."""


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The files of a model on disk.

    config: the contents of config.json.
    size: bytes of the weights.
    """

    config: Mapping[str, Any]
    size: int
    num_parameters: int

    @classmethod
    def read(cls, folder: ModelFolder) -> "WeightFiles":
        """Read `folder`, only the headers of the weights. A folder that is gone has no files."""
        try:
            files = folder.weight_files()
            size = sum(file.stat().st_size for file in files)
            return cls(folder.config(), size, count_parameters(files))
        except (ModelError, OSError):
            # The weights are in memory, and the folder may have been moved since.
            return cls({}, 0, 0)


class ModelCard:
    """Description of the served model."""

    def __init__(self, engine: Backend, ready_at: int) -> None:
        """Read the model's folder, which blocks on a few small reads.

        ready_at: time since which the model has been served, in Unix seconds.
        """
        self._engine = engine
        self._served_since = timestamp(ready_at)
        self._files = WeightFiles.read(ModelFolder(engine.config.model.path))

    @property
    def on_disk(self) -> dict[str, Any]:
        """Entry of the list of models."""
        return {**self._identity, "modified_at": self._served_since}

    @property
    def in_memory(self) -> dict[str, Any]:
        """Entry of the list of loaded models. The model stays loaded."""
        return {
            **self._identity,
            "expires_at": NEVER,
            "size_vram": 0 if self._engine.config.device.kind == "cpu" else self._files.size,
            "context_length": self._engine.max_model_len,
        }

    @property
    def in_full(self) -> dict[str, Any]:
        """Description of the model alone. The template is empty, because Ollama's are in another language."""
        engine = self._engine
        parameters = {"num_ctx": engine.max_model_len, **engine.sampling_defaults}
        return {
            "modelfile": f"FROM {engine.model_name}\n",
            "parameters": "\n".join(f"{name:<{LABEL_WIDTH}} {value}" for name, value in parameters.items()),
            "template": "",
            "details": self._details,
            "model_info": self._shape,
            "capabilities": ["completion", "tools", *(["thinking"] if engine.chat_format.thinking is not None else [])],
            "modified_at": self._served_since,
        }

    @property
    def _identity(self) -> dict[str, Any]:
        name = tagged_name(self._engine)
        return {
            "name": name,
            "model": name,
            "size": self._files.size,
            "digest": sha256(self._engine.kv_fingerprint.encode()).hexdigest(),
            "details": self._details,
        }

    @property
    def _details(self) -> dict[str, Any]:
        config = self._engine.config
        return {
            "parent_model": "",
            "format": "safetensors",
            "family": self._family,
            "families": [self._family],
            "parameter_size": _in_words(self._files.num_parameters),
            "quantization_level": QUANTIZED_FORMATS.get(config.model.quantization, FORMATS[config.model.dtype]),
        }

    @property
    def _shape(self) -> dict[str, Any]:
        """Keys of a GGUF file, of which clients read the architecture and the length of its context."""
        family, config = self._family, self._files.config
        return {
            "general.architecture": family,
            "general.basename": self._engine.model_name,
            "general.parameter_count": self._files.num_parameters,
            f"{family}.context_length": self._engine.max_model_len,
            f"{family}.embedding_length": config.get("hidden_size", 0),
            f"{family}.block_count": config.get("num_hidden_layers", 0),
        }

    @property
    def _family(self) -> str:
        return str(self._files.config.get("model_type", "unknown"))


def _in_words(num_parameters: int) -> str:
    if num_parameters >= 10**9:
        return f"{num_parameters / 1e9:.1f}B"
    return f"{num_parameters / 1e6:.2f}M"
