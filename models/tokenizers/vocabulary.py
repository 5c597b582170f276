"""Comparison of vocabularies, by which two models understand the same ids."""

import hashlib
from pathlib import Path

from models.tokenizers.text_tokenizer import TextTokenizer, load_tokenizer


def have_same_vocabulary(one: Path, other: Path) -> bool:
    """Return whether the models in both folders have the same vocabulary. Raise TokenizerError."""
    return vocabulary_digest(load_tokenizer(one)) == vocabulary_digest(load_tokenizer(other))


def vocabulary_digest(tokenizer: TextTokenizer) -> str:
    """Return a SHA-256 digest, in hex, of every id's bytes and of all control tokens.

    Ids beyond the vocabulary, to which a model may pad its matrices, do not count.
    """
    digest = hashlib.sha256()
    for id_ in range(tokenizer.vocab_size):
        text = tokenizer.token_bytes(id_)
        digest.update(len(text).to_bytes(4, "little") + text)
    for name, id_ in sorted(tokenizer.control_tokens.items()):
        digest.update(f"{id_} {name}\0".encode())
    return digest.hexdigest()
