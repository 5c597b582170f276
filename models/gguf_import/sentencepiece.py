"""SentencePiece vocabularies of GGUF files, whose tokenizer is called llama.

The ids are those of SentencePiece itself, and of the tokenizer.json that transformers makes of the same model.
"""

from dataclasses import replace
from typing import Final

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata
from models.gguf_import.tokens import Tokens

SPACE: Final = "▁"
_TAB, _TAB_BYTE = "\t", "<0x09>"

_MISTRAL_MARK: Final = "[INST]"
"""Control token of Mistral's vocabularies of 2024, which have a space before the text alone, not after each token."""

MAX_PIECE: Final = 256
"""Characters of a piece. SentencePiece makes pieces of at most 16 by default. All pairs that make a piece are tried."""

_KEEPS_SPACES: Final = frozenset({"<unk>", "<s>", "<|endoftext|>"})
"""Tokens of Phi-3 that keep white space after them. All its other added tokens drop it, which files do not state."""


class SentencePieceVocabulary:
    """A BPE vocabulary of SentencePiece, in which each merge makes the piece with the highest score.

    The constructor raises ConversionError for settings that would change the text before it is split, and for pieces
    beyond MAX_PIECE.
    """

    adds_bos = True

    def __init__(self, metadata: Metadata, tokens: Tokens) -> None:
        for key in ("remove_extra_whitespaces", "precompiled_charsmap"):
            if metadata.get(f"tokenizer.ggml.{key}"):
                raise ConversionError(f"the file sets tokenizer.ggml.{key}, which is not supported")
        self._tokens = _as_pieces(tokens)
        self._texts = self._tokens.texts
        self._scores: list[float] = metadata.items("tokenizer.ggml.scores", float)
        if len(self._scores) != len(tokens.texts):
            raise ConversionError(f"the file has {len(tokens.texts)} tokens, but {len(self._scores)} scores")
        if (longest := max(map(len, self._texts), default=0)) > MAX_PIECE:
            raise ConversionError(f"the file has a token of {longest} characters; {MAX_PIECE} are supported")
        self._adds_space = metadata.get("tokenizer.ggml.add_space_prefix", True) is not False
        self._is_phi3 = metadata.text("general.architecture") == "phi3"

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer, without added tokens around a text. Raise as the library, which has no error types."""
        types, unknown = gguf.TokenType, self._tokens.roles.get("unk")
        tokenizer = Tokenizer(
            BPE(
                vocab={text: id_ for id_, text in enumerate(self._texts)},
                merges=self._merges(),
                unk_token=None if unknown is None else self._texts[unknown],
                fuse_unk=True,
                byte_fallback=any(self._tokens.of_type(types.BYTE)),
            )
        )
        self._set_spaces(tokenizer)
        special = {*self._tokens.of_type(types.CONTROL), *(() if unknown is None else (unknown,))}
        added = sorted({*special, *self._tokens.of_type(types.USER_DEFINED)})
        tokenizer.add_tokens([self._added(self._texts[id_], special=id_ in special) for id_ in added])
        return tokenizer

    def _set_spaces(self, tokenizer: Tokenizer) -> None:
        """Set the form of spaces within the pieces, and whether a space precedes a text."""
        spaces = normalizers.Replace(" ", SPACE)
        parts = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
        if not self._adds_space:
            tokenizer.normalizer = spaces
        elif _MISTRAL_MARK in (self._texts[id_] for id_ in self._tokens.of_type(gguf.TokenType.CONTROL)):
            tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first", split=False)
        else:
            tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), spaces])
        tokenizer.decoder = decoders.Sequence([*parts, *([decoders.Strip(" ", 1, 0)] if self._adds_space else [])])

    def _added(self, text: str, *, special: bool) -> AddedToken:
        drops_spaces = self._is_phi3 and text not in _KEEPS_SPACES
        return AddedToken(text, special=special, normalized=False, rstrip=drops_spaces)

    def _merges(self) -> list[tuple[str, str]]:
        """List all pairs of pieces that make a piece, the one with the highest score first.

        Control tokens are left out: their text within a prompt is plain text.
        """
        usable = (gguf.TokenType.NORMAL, gguf.TokenType.USER_DEFINED)
        ids = {self._texts[id_]: id_ for id_ in self._tokens.of_type(*usable)}
        found = [
            (self._score(id_), cut, len(text) - cut, text)
            for text, id_ in ids.items()
            for cut in range(1, len(text))
            if text[:cut] in ids and text[cut:] in ids
        ]
        # Among the pairs of a piece, the longest left part comes first, as in a run of spaces.
        found.sort(key=lambda merge: merge[:3], reverse=True)
        return [(text[:cut], text[cut:]) for _, cut, _, text in found]

    def _score(self, id_: int) -> float:
        # SentencePiece gives these pieces 0. The converters of GGUF files write another number.
        return 0.0 if self._tokens.types[id_] == gguf.TokenType.USER_DEFINED else self._scores[id_]


def _as_pieces(tokens: Tokens) -> Tokens:
    """Return the tokens as SentencePiece has them."""
    texts, types = list(tokens.texts), list(tokens.types)
    for id_ in tokens.of_type(gguf.TokenType.USER_DEFINED):
        texts[id_] = texts[id_].replace(" ", SPACE)
    # Gemma has pieces of several tabs, but a single one only as a byte, which could not be merged.
    if _TAB not in texts and _TAB_BYTE in texts and _TAB * 2 in texts:
        id_ = texts.index(_TAB_BYTE)
        texts[id_], types[id_] = _TAB, int(gguf.TokenType.NORMAL)
    return replace(tokens, texts=texts, types=types)
