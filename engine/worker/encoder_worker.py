"""Worker for an encoder: a text is computed whole, in the step that schedules its last token. There is no KV."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from engine.api.errors import EngineError
from engine.api.sampling_params import Pooling
from engine.config import EngineConfig
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.host_resources import usable_cores
from engine.worker.loaded_model import LoadedModel
from engine.worker.native.selection import check_quantization, pack_matrices
from engine.worker.torch.devices import open_device
from models.encoder.loading import load_encoder
from models.interface.encoder import Encoder
from models.weights.folder import ModelFolder

logger = logging.getLogger(__name__)

_DTYPES: Final = {"bfloat16": torch.bfloat16, "float32": torch.float32}


@dataclass(slots=True)
class _Text:
    """A text whose tokens are being scheduled. num_scheduled: tokens of earlier steps."""

    token_ids: Sequence[int]
    pooling: Pooling
    num_scheduled: int


class EncoderWorker:
    """One encoder on one device. The methods are those of `Worker`, and are called in the same order."""

    computes_elsewhere: Final = False

    def __init__(self, config: EngineConfig, *, progress: Callable[[str], None] = lambda _: None) -> None:
        """Open the device. Raise EngineError if the machine does not have it, or for a setting that needs KV."""
        if config.model.dtype not in _DTYPES:
            raise EngineError(f"dtype {config.model.dtype!r} is not one of {', '.join(_DTYPES)}")
        if config.model.adapters_dir is not None:
            raise EngineError("--adapters-dir is not possible here: the model is an encoder, which has no adapters")
        self._config = config
        self._progress = progress
        self._threads = max(1, usable_cores() // config.parallel.cpu_sharers)
        self._device = open_device(config.device.kind)
        self._encoder: Encoder | None = None
        self._texts: dict[str, _Text] = {}

    def load(self) -> None:
        """Load the weights. Errors of the loader propagate."""
        config = self._config
        check_quantization(config)
        self._device.prepare()
        encoder = load_encoder(ModelFolder(config.model.path), _DTYPES[config.model.dtype], self._device.torch_device)
        pack_matrices(config, encoder, self._progress, threads=self._threads)
        if config.device.kind == "cpu":
            # The tail of a vector loop has other bits than its body, so a text must not be divided among threads.
            torch.set_num_threads(1)
        self._encoder = encoder

    @property
    def _loaded(self) -> Encoder:
        if self._encoder is None:
            raise EngineError("the model is not loaded")
        return self._encoder

    def describe(self) -> LoadedModel:
        """Describe the encoder for the scheduler. Raise EngineError before `load`."""
        encoder = self._loaded
        return LoadedModel(
            vocab_size=encoder.vocab_size,
            max_position_embeddings=encoder.max_position_embeddings,
            block_nbytes=0,
            free=self._device.available_memory(),
            numerics=f"encoder-{encoder.kernels}-{self._config.model.dtype}",
            weights=encoder.nbytes,
            shares_memory=self._device.memory is None,
        )

    def init_kv(self, num_blocks: int) -> None:
        """Do nothing: an encoder has no KV."""

    def attach_host_pool(self, _host_pool: memoryview) -> None:
        """Raise EngineError: an encoder has no tiers."""
        raise EngineError("an encoder has no KV to store")

    @torch.inference_mode()
    def submit(self, step: SchedulerOutput) -> Callable[[], ModelRunnerOutput]:
        """Compute a step, and return a function that returns its output. The rest is as in `Worker.submit`."""
        received = time.perf_counter()
        complete = self._complete(step)
        started = time.perf_counter()
        vectors = self._vectors(list(complete.values()))
        embeddings = dict(zip(complete, vectors, strict=True))
        output = ModelRunnerOutput(
            step_id=step.step_id,
            sampled_token_ids={},
            embeddings=embeddings,
            started=started if step.num_scheduled_tokens else 0.0,
            ended=time.perf_counter() if step.num_scheduled_tokens else 0.0,
            received=received,
            prepared=started,
            sent=time.perf_counter(),
        )
        return lambda: output

    def _complete(self, step: SchedulerOutput) -> dict[str, _Text]:
        """Take the changes of a step, and return the texts whose last token it schedules."""
        for request_id in step.dropped_request_ids:
            self._texts.pop(request_id, None)
        for new in step.new_requests:
            pooling = new.sampling.pooling
            if pooling is None or pooling == "auto":
                raise EngineError(f"request {new.request_id} wants an answer of an encoder")
            self._texts[new.request_id] = _Text(new.token_ids, pooling, new.num_computed_tokens)
        complete: dict[str, _Text] = {}
        for request_id, count in step.num_scheduled_tokens.items():
            text = self._texts[request_id]
            text.num_scheduled += count
            if text.num_scheduled == len(text.token_ids):
                complete[request_id] = text
        return complete

    def _vectors(self, texts: Sequence[_Text]) -> list[bytes]:
        """Return the vector of each text, float32 little-endian."""
        if not texts:
            return []
        encoder, device = self._loaded, self._device.torch_device
        lengths = [len(text.token_ids) for text in texts]
        ids = torch.tensor([id_ for text in texts for id_ in text.token_ids]).to(device)
        kinds = torch.tensor([kind for text in texts for kind in _kinds(text, encoder.separator)]).to(device)
        hidden = encoder.forward(ids, kinds, lengths)
        return [
            _pooled(encoder, each, text.pooling).cpu().numpy().astype("<f4").tobytes()
            for each, text in zip(hidden.split(lengths), texts, strict=True)
        ]

    def close(self) -> None:
        """Release the memory."""
        self._encoder = None


def _kinds(text: _Text, separator: int | None) -> list[int]:
    """Return the kind of each token: 1 behind the first separator of a pair, else 0."""
    count = len(text.token_ids)
    if text.pooling != "label" or separator is None or separator not in text.token_ids:
        return [0] * count
    first = text.token_ids.index(separator) + 1
    return [0] * first + [1] * (count - first)


def _pooled(encoder: Encoder, hidden: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """Return the vector of one text from its hidden states [L, hidden]."""
    match pooling:
        case "mean":
            return hidden.cpu().double().mean(0).float()
        case "last":
            return hidden[-1]
        case "first":
            return hidden[0]
        case "label":
            return encoder.label(hidden)
