"""The JSON files of a model folder in the layout of the Hugging Face hub."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from models.errors import ModelNotFoundError, UnsupportedModelError
from models.weights.unreadable import why_unreadable
from models.weights.weight_names import INDEX, weight_names

_MODULES: Final = frozenset({"Transformer", "Pooling", "Normalize", "LogitScore"})
"""Modules of sentence-transformers whose effect is known here."""

CLASSIFIER: Final = "ForSequenceClassification"
"""End of the names of architectures with a head of labels."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with config.json, safetensors files and a tokenizer."""

    path: Path

    def config(self) -> dict[str, Any]:
        """Read config.json, the shape of the network. Raise ModelNotFoundError unless the file is a JSON object."""
        return self._read("config.json", required=True)

    def generation_config(self) -> dict[str, Any]:
        """Read generation_config.json; empty if there is none."""
        return self._read("generation_config.json", required=False)

    def tokenizer_config(self) -> dict[str, Any]:
        """Read tokenizer_config.json; empty if there is none."""
        return self._read("tokenizer_config.json", required=False)

    def processor_template(self) -> Any:
        """Read the chat template of chat_template.json, where older processors have it; None if there is none."""
        return self._read("chat_template.json", required=False).get("chat_template")

    def token_ids(self, key: str) -> tuple[int, ...]:
        """Collect the ids under `key`, such as "eos_token_id", in both configurations, in order and without duplicates.

        The ids of generation_config.json come before those of config.json, and these before those of its text part.
        """
        config = self.config()
        values = (source.get(key) for source in (self.generation_config(), config, config.get("text_config") or {}))
        lists = (value if isinstance(value, list) else [value] for value in values)
        return tuple(dict.fromkeys(id_ for ids in lists for id_ in ids if isinstance(id_, int)))

    def token_text(self, key: str) -> str | None:
        """Return the text of the tokenizer's token `key`, such as "eos_token"; None if the folder does not name it.

        Folders of old versions of transformers name it in special_tokens_map.json alone.
        """
        for name in ("tokenizer_config.json", "special_tokens_map.json"):
            value = self._read(name, required=False).get(key)
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str):
                return text
        return None

    def sampling_defaults(self) -> dict[str, float]:
        """Return the recommended sampling parameters: temperature, top_p and top_k of generation_config.json, if given.

        Empty if the file sets none of them, or does not enable sampling.
        """
        config = self.generation_config()
        if config.get("do_sample") is not True:
            return {}
        values = {name: config.get(name) for name in ("temperature", "top_p", "top_k")}
        return {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def pooling(self) -> Literal["mean", "last", "first"] | None:
        """Return how the hidden states of a model for embeddings are pooled; None if the folder does not say.

        Source: the `1_Pooling/config.json` and `modules.json` of sentence-transformers. Raise UnsupportedModelError for
        other ways, and for a module that changes the pooled states.
        """
        self._check_modules()
        config = self._read("1_Pooling/config.json", required=False)
        chosen = sorted(name for name, value in config.items() if name.startswith("pooling_mode_") and value is True)
        if not chosen:
            return None
        match chosen:
            case ["pooling_mode_lasttoken"]:
                return "last"
            case ["pooling_mode_mean_tokens"]:
                return "mean"
            case ["pooling_mode_cls_token"]:
                return "first"
        raise UnsupportedModelError(
            f"{self.path} pools embeddings by {', '.join(chosen)}, which is not supported: choose --pooling"
        )

    def _check_modules(self) -> None:
        """Raise UnsupportedModelError for a module that is not computed, such as a Dense behind the pooling."""
        listed = self._read_json("modules.json") if (self.path / "modules.json").exists() else []
        types = [str(each.get("type")) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        for type_ in types:
            if (name := type_.rpartition(".")[2]) not in _MODULES:
                raise UnsupportedModelError(
                    f"{self.path} has the module {name}, which changes embeddings: not supported"
                )

    def is_classifier(self) -> bool:
        """Return whether config.json names a network with a head of labels in the place of an output matrix."""
        names = self.config().get("architectures")
        name = names[0] if isinstance(names, list) and names else None
        return isinstance(name, str) and name.endswith(CLASSIFIER)

    def names_pooling(self) -> bool:
        """Return whether the folder is that of a model for embeddings, since it says how hidden states are pooled."""
        return bool(self._read("1_Pooling/config.json", required=False))

    def matryoshka_dimensions(self) -> tuple[int, ...]:
        """Return the sizes to which embeddings may be shortened, in ascending order; empty if the folder names none."""
        for source in (self.config(), self._read("config_sentence_transformers.json", required=False)):
            found = source.get("matryoshka_dimensions")
            if isinstance(found, list):
                return tuple(sorted({each for each in found if type(each) is int and each > 0}))
        return ()

    def max_seq_length(self) -> int | None:
        """Return the tokens of the longest text of a model for embeddings; None if the folder does not say.

        Source: the `sentence_bert_config.json` of sentence-transformers.
        """
        found = self._read("sentence_bert_config.json", required=False).get("max_seq_length")
        return found if type(found) is int and found > 0 else None

    def logit_score(self) -> dict[str, Any]:
        """Read the configuration of the module that makes a score of logits; empty if there is none.

        Source: the `1_LogitScore/config.json` of sentence-transformers.
        """
        return self._read("1_LogitScore/config.json", required=False)

    def weight_files(self) -> list[Path]:
        """List the safetensors files with the weights, sorted by name: those that `weight_names` chooses.

        Raise ModelNotFoundError if there is none, or if one is missing, and WeightsError for an unusable index.
        """
        try:
            names = weight_names(os.listdir(self.path), self.path / INDEX)
        except OSError as error:
            raise ModelNotFoundError(why_unreadable(self.path, error)) from error
        if not names:
            raise ModelNotFoundError(f"{self.path} has no .safetensors file; other weight formats are not supported")
        missing = [name for name in names if not (self.path / name).exists()]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise ModelNotFoundError(
                f"{self.path} is incomplete: {', '.join(missing[:3])}{more} of its weights are missing. Download the "
                f"folder again, or delete {INDEX} if other files hold all weights"
            )
        return [self.path / name for name in names]

    def _read(self, name: str, *, required: bool) -> dict[str, Any]:
        try:
            value = self._read_json(name)
        except FileNotFoundError:
            if not required:
                return {}
            raise ModelNotFoundError(f"{self.path} is not a model folder: it has no {name}") from None
        if not isinstance(value, dict):
            raise ModelNotFoundError(f"{self.path / name} does not contain a JSON object")
        return value

    def _read_json(self, name: str) -> Any:
        file = self.path / name
        try:
            # The parser finds out the encoding, and skips a byte order mark.
            return json.loads(file.read_bytes())
        except FileNotFoundError:
            raise
        except (OSError, ValueError, RecursionError) as error:
            raise ModelNotFoundError(why_unreadable(file, error)) from error
