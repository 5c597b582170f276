"""Conversion of a GGUF file's tokenizer to the hub's files."""

from typing import Any

import gguf
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Sequence, Split
from tokenizers.processors import TemplateProcessing

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2_WORDS = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
LLAMA3_WORDS = QWEN2_WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN_WORDS = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
)
WORDS = {"qwen2": QWEN2_WORDS, "llama-bpe": LLAMA3_WORDS, "tekken": TEKKEN_WORDS}
"""Expressions by which Qwen2, 2.5 and 3, Llama 3, and Mistral from Nemo on split text before their merges, as in their
tokenizer.json."""

_DIGITS = frozenset({"smollm", "refact"})
"""Pre-tokenizers of SmolLM and Granite, which split digits and then words as GPT-2 does."""

_LIKE_TIKTOKEN = frozenset({"llama-bpe", "tekken"})
"""Pre-tokenizers after which a word that is a token is not merged from its bytes. A bos token is the default there."""

_IDS = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
_CONTROL = int(gguf.TokenType.CONTROL)


class Vocabulary:
    """A byte-level BPE vocabulary.

    The constructor raises ConversionError for a tokenizer of another kind, or with an unknown pre-tokenizer, because a
    wrong split produces plausible but wrong ids.
    """

    def __init__(self, metadata: Metadata) -> None:
        kind = metadata.text("tokenizer.ggml.model")
        if kind != "gpt2":
            raise ConversionError(f"the file has a tokenizer of type {kind!r}; only byte-level BPE (gpt2) is supported")
        self._tokens: list[str] = metadata.items("tokenizer.ggml.tokens", str)
        self._types: list[int] = metadata.items("tokenizer.ggml.token_type", int)
        self._merges: list[str] = metadata.items("tokenizer.ggml.merges", str)
        self._splitter_name = metadata.text("tokenizer.ggml.pre")
        self._splitter = _splitter(self._splitter_name)
        self._add_bos = bool(metadata.get("tokenizer.ggml.add_bos_token", self._splitter_name in _LIKE_TIKTOKEN))
        self._template = metadata.get("tokenizer.chat_template")
        if len(self._types) != len(self._tokens):
            raise ConversionError(f"the file has {len(self._tokens)} tokens, but {len(self._types)} token types")
        ids = {name: metadata.token_id(f"tokenizer.ggml.{key}_token_id") for name, key in _IDS.items()}
        self._ids = {name: id_ for name, id_ in ids.items() if id_ is not None}
        for name, id_ in self._ids.items():
            if id_ >= len(self._tokens):
                raise ConversionError(f"the file has {id_} as its {name} token, but only {len(self._tokens)} tokens")

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self._tokens)

    def ids(self) -> dict[str, int]:
        """Return the bos, eos and pad ids that the file has, by their names in config.json."""
        return {f"{name}_token_id": id_ for name, id_ in self._ids.items() if name != "unk"}

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer for tokenizer.json, equal to the one that the file was made from.

        Raise ConversionError if the library rejects it.
        """
        try:
            vocabulary = {token: index for index, token in enumerate(self._tokens)}
            merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in self._merges)]
            whole = self._splitter_name in _LIKE_TIKTOKEN
            tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=merges, ignore_merges=whole))
        except Exception as error:  # The library raises bare Exception.
            raise ConversionError(f"the file's tokenizer cannot be built: {error}") from error
        tokenizer.pre_tokenizer = self._splitter
        if self._splitter_name == "qwen2":
            tokenizer.normalizer = NFC()
        tokenizer.decoder = ByteLevelDecoder()
        control = [token for token, type_ in zip(self._tokens, self._types, strict=True) if type_ == _CONTROL]
        tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
        if self._add_bos and "bos" in self._ids:
            bos = self._tokens[self._ids["bos"]]
            tokenizer.post_processor = TemplateProcessing(
                single=f"{bos} $A", pair=f"{bos} $A $B", special_tokens=[(bos, self._ids["bos"])]
            )
        return tokenizer

    def config(self) -> dict[str, Any]:
        """Build the contents of tokenizer_config.json, with the chat template verbatim if there is one."""
        config: dict[str, Any] = {f"{name}_token": self._tokens[id_] for name, id_ in self._ids.items()}
        config |= {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "add_bos_token": self._add_bos,
        }
        return config if self._template is None else config | {"chat_template": self._template}


def _splitter(name: str) -> PreTokenizer:
    byte_level = ByteLevel(add_prefix_space=False, use_regex=True)
    if name in _DIGITS:
        return Sequence([Digits(individual_digits=True), byte_level])
    if name == "gpt-2":
        return byte_level
    if name in WORDS:
        words = Split(Regex(WORDS[name]), behavior="isolated")
        return Sequence([words, ByteLevel(add_prefix_space=False, use_regex=False)])
    raise ConversionError(f"the file has the pre-tokenizer {name!r}, which is not supported; use the model's folder")
