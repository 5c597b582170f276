"""A model from the hub: its description first, which is judged, and then the files that take long."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from models.download.hub.download import Meter, fetch, fill, partial_of, present_bytes
from models.download.hub.folder import HubFolder
from models.download.hub.repository import HubName, RepoFile, Repository
from models.download.hub.selection import description_files, gguf_file, weight_files
from models.download.staging import Progress, exclusive, no_room, private_folder
from models.weights.folder import ModelFolder
from models.weights.stored import StoredWeights, holds_quantized, text_part

if TYPE_CHECKING:
    from models.decoder.config import DecoderConfig
    from models.download.hub.client import Hub
    from models.interface.attention_call import AttentionCall

_GGUF_HEAD: Final = 48_000_000
"""Bytes of a GGUF file that hold its metadata: mostly the vocabulary."""
_SPARE: Final = 100_000_000
"""Bytes of the disk that a download leaves free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubPlan:
    """A model at the hub that can be computed here, before its weights are downloaded.

    files: the files that the model needs.
    missing: bytes that are still to be downloaded.
    decoder: shape of the network; None if transformers computes it.
    max_position_embeddings: longest context window, in tokens.
    has_experts: a token uses only some of the weights.
    """

    name: HubName
    repository: Repository
    files: tuple[RepoFile, ...]
    missing: int
    stored: StoredWeights
    decoder: "DecoderConfig | None"
    attention: "tuple[AttentionCall, ...]"
    max_position_embeddings: int
    code: str
    has_experts: bool

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(file.nbytes for file in self.files)


def plan_download(name: HubName, cache_dir: Path, hub: "Hub", progress: Progress, *, device: str) -> HubPlan:
    """Download what describes the model, and judge it.

    device: kind of the device that will compute the model: "cpu", "cuda" or "npu".

    Raise UnsupportedModelError, ConversionError or TokenizerError for a model that cannot be served, ModelNotFoundError
    if there is none of that name, DownloadError, ChecksumError or DiskFullError.
    """
    progress(f"Asking {hub.endpoint} for {name.repository}")
    repository = hub.repository(name.repository, progress)
    fetching = _Fetching(HubFolder.of(name, cache_dir), hub, repository, progress)
    private_folder(cache_dir)
    with exclusive(fetching.kept.root, progress):
        return fetching.plan_gguf(name) if name.choice else fetching.plan_folder(name, device)


def download(plan: HubPlan, cache_dir: Path, hub: "Hub", progress: Progress) -> Path:
    """Download the files of `plan` that are missing. Return the model folder, or the GGUF file.

    Any number of processes may call this function at once. A file that was interrupted continues where it ended.

    Raise DownloadError, ChecksumError or DiskFullError; what was downloaded until then is kept.
    """
    kept = HubFolder.of(plan.name, cache_dir)
    private_folder(cache_dir)
    with exclusive(kept.root, progress):
        _Fetching(kept, hub, plan.repository, progress).fetch_all(plan.files)
        path = plan.files[0].path if plan.name.choice else "."
        kept.set_ready(plan.name.choice, plan.repository.commit, path)
    progress(f"{plan.name} is ready")
    return kept.snapshot(plan.repository.commit) / path


@dataclass(frozen=True, slots=True)
class _Fetching:
    """Downloads of one repository's files. Call under the lock of its folder."""

    kept: HubFolder
    hub: "Hub"
    repository: Repository
    progress: Progress

    def plan_folder(self, name: HubName, device: str) -> HubPlan:
        """Plan the download of the safetensors files."""
        # Imported here because these need torch, and finding a finished model does not.
        import torch

        from models.registry import summarize
        from models.tokenizers.text_tokenizer import load_tokenizer

        description = description_files(self.repository)
        folder = self.kept.snapshot(self.repository.commit)
        # config.json is the first, and judged alone: other files may be large for a description.
        self.fetch_all(description[:1])
        network = summarize(folder, torch.bfloat16, device)
        weights = weight_files(self.repository, self._fetched(description))
        load_tokenizer(folder)
        return HubPlan(
            name=name,
            repository=self.repository,
            files=(*description, *weights),
            missing=self.missing(weights),
            stored=self._stored(ModelFolder(folder).config(), network.decoder, sum(file.nbytes for file in weights)),
            decoder=network.decoder,
            attention=network.attention,
            max_position_embeddings=network.max_position_embeddings,
            code=network.code,
            has_experts="_experts" in (folder / "config.json").read_text(encoding="utf-8"),
        )

    def plan_gguf(self, name: HubName) -> HubPlan:
        """Plan the download of one GGUF file, whose beginning is downloaded and judged."""
        from models.download.gguf_head import read_head

        file = gguf_file(self.repository, name.choice)
        blob = self.kept.blob(file)
        missing = self.missing([file])
        self._check_room(missing)
        meter = Meter(str(name), file.nbytes, present_bytes(blob), self.progress)
        if not blob.exists():
            fill(self.hub, self.repository, file, blob, meter, _GGUF_HEAD)
        with tempfile.TemporaryDirectory(dir=self.kept.root) as temporary:
            # The reader maps the whole file, and reads only the metadata. The rest is a hole.
            head = Path(temporary) / "head.gguf"
            shutil.copyfile(blob if blob.exists() else partial_of(blob), head)
            with head.open("ab") as stream:
                stream.truncate(file.nbytes)
            found = read_head(head)
        return HubPlan(
            name=name,
            repository=self.repository,
            files=(file,),
            missing=self.missing([file]),
            stored=found.stored,
            decoder=found.decoder,
            attention=found.decoder.attention_calls(),
            max_position_embeddings=found.decoder.max_position_embeddings,
            code="shared decoder",
            has_experts=False,
        )

    def fetch_all(self, files: Sequence[RepoFile]) -> None:
        """Download those of `files` that are missing, and link all of them into the snapshot."""
        missing = self.missing(files)
        self._check_room(missing)
        total = sum(file.nbytes for file in files)
        meter = Meter(self.repository.name, total, total - missing, self.progress)
        for file in files:
            fetch(self.hub, self.repository, file, self.kept.blob(file), meter)
            self.kept.link(self.repository.commit, file)

    def missing(self, files: Sequence[RepoFile]) -> int:
        """Count the bytes of `files` that are not on this disk."""
        return sum(max(0, file.nbytes - present_bytes(self.kept.blob(file))) for file in files)

    def _stored(self, config: Mapping[str, Any], decoder: "DecoderConfig | None", nbytes: int) -> StoredWeights:
        """Estimate the weights of `nbytes` bytes of safetensors files from config.json."""
        part = text_part(config)
        count = self.repository.parameters or nbytes // _itemsize(config)
        embedding = part.get("vocab_size", 0) * part.get("hidden_size", 0)
        is_tied = part.get("tie_word_embeddings", True) if decoder is None else decoder.tie_word_embeddings
        head = 0 if is_tied else embedding
        layers = count - embedding - head
        return StoredWeights(layers, embedding, head, {}, nbytes, is_quantized=holds_quantized(config))

    def _fetched(self, files: Sequence[RepoFile]) -> Path:
        self.fetch_all(files)
        return self.kept.snapshot(self.repository.commit)

    def _check_room(self, missing: int) -> None:
        free = shutil.disk_usage(self.kept.root.parent).free
        if missing and free < missing + _SPARE:
            raise no_room(self.kept.root, f"{(missing + _SPARE) // 10**6} MB are needed, {free // 10**6} MB are free")


def _itemsize(config: Mapping[str, Any]) -> int:
    """Return the bytes per weight in the files of a folder, as its config.json states them."""
    return 4 if config.get("dtype", config.get("torch_dtype")) == "float32" else 2
