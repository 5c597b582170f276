"""The uses of a model's vectors, as its folder states them."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.encoder.config import is_encoder, read_encoder_config
from models.errors import ModelError, UnsupportedModelError
from models.retrieval.pair_frame import PairFrame, read_pair_frame
from models.retrieval.pairs import has_pair_roles
from models.retrieval.score_head import LabelHead, ScoreHead
from models.tokenizers.text_tokenizer import TextTokenizer
from models.weights.folder import ModelFolder


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Uses of a model's vectors.

    dimensions: numbers of values to which embeddings may be shortened, in ascending order.
    has_embeddings: the folder names a pooling, so the model was trained to compare texts by their embeddings.
    head: makes a score of a prompt with a query and a document; None for a model that cannot.
    has_roles: as in `pair_messages`, for a decoder.
    frame: the tokens around a pair of texts, for an encoder; None for a decoder.
    refusal: why the model cannot rank although the folder or the settings want it to; empty if nothing is wrong.
    """

    dimensions: tuple[int, ...] = ()
    has_embeddings: bool = False
    head: ScoreHead | LabelHead | None = None
    has_roles: bool = False
    frame: PairFrame | None = None
    refusal: str = ""


def read_retrieval(folder: ModelFolder, tokenizer: TextTokenizer, words: Sequence[str] = ()) -> Retrieval:
    """Read the uses of a model's vectors.

    words: the words of the output matrix for a relevant document and against it, for a folder that names none.

    Raise UnsupportedModelError if a word is not one token, and ModelError for files that cannot be read.
    """
    if is_encoder(folder.config()):
        return _of_encoder(folder, words)
    ids = _ids_of_words(tokenizer, words) or _ids_of_module(folder)
    head, refusal = None, ""
    if folder.is_classifier() or ids:
        # Imported here, since it takes a second to import torch, which the server's process may not need otherwise.
        from models.retrieval.head_reading import read_head

        try:
            head = read_head(folder, ids)
        except ModelError as error:
            if words:
                raise
            refusal = str(error)
    return Retrieval(
        dimensions=folder.matryoshka_dimensions(),
        has_embeddings=folder.names_pooling(),
        head=head,
        has_roles=head is not None and has_pair_roles(folder),
        refusal=refusal,
    )


def gives_answers(folder: ModelFolder) -> bool:
    """Return whether a model has an output matrix, so that it can answer. Others embed and rank texts alone.

    Raise ModelNotFoundError for a folder without config.json.
    """
    return not (is_encoder(folder.config()) or folder.is_classifier())


def _of_encoder(folder: ModelFolder, words: Sequence[str]) -> Retrieval:
    if words:
        raise UnsupportedModelError("--rerank-words: the model is an encoder, which has no output matrix")
    if not read_encoder_config(folder.config()).has_label:
        return Retrieval(dimensions=folder.matryoshka_dimensions(), has_embeddings=True)
    return Retrieval(head=LabelHead(), frame=read_pair_frame(folder))


def _ids_of_words(tokenizer: TextTokenizer, words: Sequence[str]) -> list[int]:
    ids = [tokenizer.encode(word, special=False) for word in words]
    for word, of_word in zip(words, ids, strict=True):
        if len(of_word) != 1:
            raise UnsupportedModelError(f"--rerank-words: {word!r} is {len(of_word)} tokens of this model, not one")
    return [id_ for [id_] in ids]


def _ids_of_module(folder: ModelFolder) -> list[int]:
    """Return the token ids of a LogitScore module: of the true token, and of the false one if there is one."""
    config = folder.logit_score()
    ids = [config.get(f"{name}_token_id") for name in ("true", "false")]
    return [id_ for id_ in ids if isinstance(id_, int)]
