"""Byte-level BPE vocabularies of GGUF files, whose tokenizer is called gpt2."""

import gguf
from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Sequence, Split

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata
from models.gguf_import.tokens import Tokens

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2_WORDS = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_SPACES}"
LLAMA3_WORDS = QWEN2_WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN_WORDS = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
)
GPT4O_WORDS = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
)
WORDS = {
    "qwen2": QWEN2_WORDS,
    "llama-bpe": LLAMA3_WORDS,
    "dbrx": LLAMA3_WORDS,
    "tekken": TEKKEN_WORDS,
    "gpt-4o": GPT4O_WORDS,
}
"""Expressions by which Qwen2, 2.5 and 3, Llama 3, Phi-4, Mistral from Nemo on, and Phi-4-mini split text before their
merges, as in their tokenizer.json."""

_DIGITS = frozenset({"smollm", "refact"})
"""Pre-tokenizers of SmolLM and Granite, which split digits and then words as GPT-2 does."""

_LIKE_TIKTOKEN = frozenset({"llama-bpe", "tekken"})
"""Pre-tokenizers after which a word that is a token is not merged from its bytes. A bos token is the default there."""


class ByteLevelVocabulary:
    """A byte-level BPE vocabulary.

    The constructor raises ConversionError for an unknown pre-tokenizer, because a wrong split produces plausible but
    wrong ids.
    """

    def __init__(self, metadata: Metadata, tokens: Tokens) -> None:
        self._tokens = tokens
        self._merges: list[str] = metadata.items("tokenizer.ggml.merges", str)
        self._splitter_name = metadata.text("tokenizer.ggml.pre")
        self._splitter = _splitter(self._splitter_name)
        self.adds_bos = self._splitter_name in _LIKE_TIKTOKEN

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer, without added tokens around a text. Raise as the library, which has no error types."""
        vocabulary = {token: index for index, token in enumerate(self._tokens.texts)}
        merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in self._merges)]
        whole = self._splitter_name in _LIKE_TIKTOKEN
        tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=merges, ignore_merges=whole))
        tokenizer.pre_tokenizer = self._splitter
        if self._splitter_name == "qwen2":
            tokenizer.normalizer = NFC()
        tokenizer.decoder = ByteLevelDecoder()
        for type_ in (gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED):
            special = type_ is gguf.TokenType.CONTROL
            texts = (self._tokens.texts[id_] for id_ in self._tokens.of_type(type_))
            tokenizer.add_tokens([AddedToken(text, special=special, normalized=False) for text in texts])
        return tokenizer


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
