"""A tokenizer with one token per benchmark word, leading space included."""

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split

from app.load.words import WORDS

UNKNOWN = "[UNK]"


def word_tokenizer() -> Tokenizer:
    """Make a tokenizer whose ids are the indices of `app.load.words.WORDS`. Any other text becomes `UNKNOWN`."""
    vocabulary = {**{f" {word}": number for number, word in enumerate(WORDS)}, UNKNOWN: len(WORDS)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Split(" ", "merged_with_next")
    return tokenizer
