"""The rows of a decoder's weights that make its scores."""

from collections.abc import Sequence
from typing import Any, Final

from models.decoder.checkpoint import canonical_name
from models.errors import UnsupportedModelError
from models.registry import CLASSIFIER_HEAD, read_config
from models.retrieval.score_head import ScoreHead
from models.weights.folder import ModelFolder
from models.weights.weights import read_rows

_HEAD: Final = "lm_head.weight"
_TIED: Final = "model.embed_tokens.weight"


def read_head(folder: ModelFolder, ids: Sequence[int]) -> ScoreHead:
    """Read the rows of the tokens `ids`, one or two, of the output matrix; without ids, the head of a classifier.

    Raise UnsupportedModelError for a network that the shared decoder does not compute and for a classifier with several
    labels, WeightsError without such rows.
    """
    config = folder.config()
    decoder = read_config(config)
    if not ids:
        if (labels := _num_labels(config)) != 1:
            raise UnsupportedModelError(f"its head has {labels} labels, and a score is made of one")
        [row] = _rows(folder, CLASSIFIER_HEAD, [0])
        return ScoreHead(row)
    rows = _rows(folder, _TIED if decoder.tie_word_embeddings else _HEAD, ids)
    reject = rows[1] if len(rows) > 1 else None
    return ScoreHead(rows[0], reject, scale=decoder.logits_scale, softcap=decoder.logits_softcap)


def _num_labels(config: dict[str, Any]) -> int:
    """Return the number of labels. Two are the default of transformers."""
    names = config.get("id2label")
    return len(names) if isinstance(names, dict) else 2


def _rows(folder: ModelFolder, name: str, rows: Sequence[int]) -> list[list[float]]:
    return read_rows(folder.weight_files(), rows, lambda stored: canonical_name(stored) == name)
