"""Small SentencePiece models like those of Llama and Gemma, and their pieces as llama.cpp's converter writes them."""

import io
from dataclasses import dataclass, field
from typing import Any, Final

import gguf
import sentencepiece

CORPUS: Final = (
    "The quick brown fox jumps over the lazy dog. It's 42 degrees, isn't it?",
    "def f(x):\n    return x ** 2  # squared\n\n\nclass A:\n\tpass",
    "naïve café Zürich größer Œuvre façade déjà vu",
    "日本語のテキスト、中文文本。한국어 텍스트 🙂🙃",
    "aaaa aaaaa aaaaaa bbbb ==== ----   spaces    and     more      spaces",
)
MARKS: Final = ("<start_of_turn>", "<end_of_turn>")
RUNS: Final = (*("\n" * count for count in range(2, 6)), *("▁" * count for count in range(2, 6)))
"""Pieces of white space that users define in Gemma's models."""


@dataclass(frozen=True)
class TinyPieces:
    """Pieces of a model.

    model: contents of tokenizer.model.
    metadata: what a GGUF file has besides the lists.
    """

    model: bytes
    tokens: list[str]
    scores: list[float]
    types: list[int]
    metadata: dict[str, Any] = field(default_factory=dict)


def llama_pieces() -> TinyPieces:
    """Make a model like Llama 2's: a space before a text, bytes for what no piece has."""
    return _pieces(_train(add_dummy_prefix=True), {"bos": 1, "eos": 2, "unknown": 0})


def gemma_pieces() -> TinyPieces:
    """Make a model like Gemma's: no space before a text, runs of white space as pieces, marks of turns."""
    model = _train(
        add_dummy_prefix=False,
        user_defined_symbols=[*MARKS, *RUNS],
        pad_id=0,
        eos_id=1,
        bos_id=2,
        unk_id=3,
        split_digits=True,
        pad_piece="<pad>",
        bos_piece="<bos>",
        eos_piece="<eos>",
    )
    ids = {"bos": 2, "eos": 1, "unknown": 3, "padding": 0}
    pieces = _pieces(model, ids, {"tokenizer.ggml.add_space_prefix": False})
    for mark in MARKS:
        _replace(pieces, mark, mark, gguf.TokenType.CONTROL)
    for run in RUNS:
        _replace(pieces, run, run.replace("▁", " "), gguf.TokenType.USER_DEFINED)
    return pieces


def _train(*, vocab_size: int = 500, **settings: Any) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=model,
        model_type="bpe",
        vocab_size=vocab_size,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        character_coverage=0.985,
        minloglevel=2,
        **settings,
    )
    return model.getvalue()


def _pieces(model: bytes, ids: dict[str, int], metadata: dict[str, Any] | None = None) -> TinyPieces:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    numbers = range(processor.get_piece_size())
    return TinyPieces(
        model,
        [processor.id_to_piece(id_) for id_ in numbers],
        [processor.get_score(id_) for id_ in numbers],
        [_type(processor, id_) for id_ in numbers],
        {f"tokenizer.ggml.{name}_token_id": id_ for name, id_ in ids.items()}
        | {"tokenizer.ggml.model": "llama", "tokenizer.ggml.pre": "default", "tokenizer.ggml.add_bos_token": True}
        | (metadata or {}),
    )


def _type(processor: sentencepiece.SentencePieceProcessor, id_: int) -> int:
    kinds = {
        gguf.TokenType.UNKNOWN: processor.is_unknown(id_),
        gguf.TokenType.CONTROL: processor.is_control(id_),
        gguf.TokenType.UNUSED: processor.is_unused(id_),
        gguf.TokenType.BYTE: processor.is_byte(id_),
    }
    return next((int(kind) for kind, found in kinds.items() if found), int(gguf.TokenType.NORMAL))


def _replace(pieces: TinyPieces, piece: str, text: str, kind: gguf.TokenType) -> None:
    """Write a piece as the converter does if tokenizer_config.json names it."""
    id_ = pieces.tokens.index(piece)
    pieces.tokens[id_], pieces.scores[id_], pieces.types[id_] = text, -1000.0, int(kind)
