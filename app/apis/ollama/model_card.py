"""Descriptions of the models, as Ollama's clients list and show models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from app.apis.ollama.model_name import tagged_name
from app.apis.ollama.timestamps import timestamp
from app.host.backend import Backend
from engine.config import EngineConfig
from models.encoder.config import is_encoder
from models.errors import ModelError
from models.retrieval.folder import gives_answers
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
    answers: whether the model has an output matrix.
    has_embeddings: whether it was trained for embeddings.
    """

    config: Mapping[str, Any]
    size: int
    num_parameters: int
    answers: bool = True
    has_embeddings: bool = False

    @classmethod
    def read(cls, folder: ModelFolder) -> "WeightFiles":
        """Read `folder`, only the headers of the weights. A folder that is gone has no files."""
        try:
            files = folder.weight_files()
            size = sum(file.stat().st_size for file in files)
            config = folder.config()
            trained = folder.names_pooling() or (is_encoder(config) and not folder.is_classifier())
            return cls(config, size, count_parameters(files), answers=gives_answers(folder), has_embeddings=trained)
        except (ModelError, OSError):
            # The weights are in memory, and the folder may have been moved since.
            return cls({}, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """Facts of a model that a card shows.

    identity: text that another version of the model does not have.
    window: tokens of prompt and answer together; 0 if that is not known yet.
    thinks: whether the model can reason before an answer.
    """

    name: str
    config: EngineConfig
    identity: str
    window: int = 0
    sampling_defaults: Mapping[str, float] = field(default_factory=dict)
    thinks: bool = False

    @classmethod
    def of(cls, engine: Backend) -> "CardFacts":
        """Collect the facts of a model that was loaded."""
        return cls(
            name=engine.model_name,
            config=engine.config,
            identity=engine.kv_fingerprint,
            window=engine.max_model_len,
            sampling_defaults=engine.sampling_defaults,
            thinks=engine.chat_format.thinking is not None,
        )

    @classmethod
    def of_unloaded(cls, name: str, config: EngineConfig) -> "CardFacts":
        """Collect the facts of a model that was never loaded."""
        return cls(name=name, config=config, identity=f"{name}\0{config.model.path}")


class ModelCard:
    """Description of a model."""

    def __init__(self, facts: CardFacts, ready_at: int, expires_at: str = NEVER) -> None:
        """Read the model's folder, which blocks on a few small reads.

        ready_at: time since which the model has been served, in Unix seconds.
        expires_at: time at which the model is unloaded if no request comes.
        """
        self.name = facts.name
        self._facts = facts
        self._served_since = timestamp(ready_at)
        self._expires_at = expires_at
        self._files = WeightFiles.read(ModelFolder(facts.config.model.path))

    @property
    def on_disk(self) -> dict[str, Any]:
        """Entry of the list of models."""
        return {**self._identity, "modified_at": self._served_since}

    @property
    def in_memory(self) -> dict[str, Any]:
        """Entry of the list of loaded models."""
        return {
            **self._identity,
            "expires_at": self._expires_at,
            "size_vram": 0 if self._facts.config.device.kind == "cpu" else self._files.size,
            "context_length": self._facts.window,
        }

    @property
    def in_full(self) -> dict[str, Any]:
        """Description of the model alone. The template is empty, because Ollama's are in another language."""
        facts = self._facts
        parameters = {"num_ctx": facts.window, **facts.sampling_defaults}
        return {
            "modelfile": f"FROM {facts.name}\n",
            "parameters": "\n".join(f"{name:<{LABEL_WIDTH}} {value}" for name, value in parameters.items()),
            "template": "",
            "details": self._details,
            "model_info": self._shape,
            "capabilities": self._capabilities,
            "modified_at": self._served_since,
        }

    @property
    def _capabilities(self) -> list[str]:
        answers = ["completion", "tools", *(["thinking"] if self._facts.thinks else [])] if self._files.answers else []
        return [*answers, *(["embedding"] if self._files.has_embeddings else [])]

    @property
    def _identity(self) -> dict[str, Any]:
        name = tagged_name(self._facts.name)
        return {
            "name": name,
            "model": name,
            "size": self._files.size,
            "digest": sha256(self._facts.identity.encode()).hexdigest(),
            "details": self._details,
        }

    @property
    def _details(self) -> dict[str, Any]:
        config = self._facts.config
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
            "general.basename": self._facts.name,
            "general.parameter_count": self._files.num_parameters,
            f"{family}.context_length": self._facts.window,
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
