"""A tokenizer to which each of the benchmarks' words, with the space before it, is one token."""

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from app.load.words import WORDS

UNKNOWN = "[UNK]"


def word_tokenizer() -> Tokenizer:
    """Ids count through `bench.workload.WORDS`; everything else is one id more."""
    vocabulary = {**{f" {word}": number for number, word in enumerate(WORDS)}, UNKNOWN: len(WORDS)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Split(" ", "merged_with_next")
    return tokenizer
