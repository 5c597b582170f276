"""Tokenizers of bytes with marks as control tokens."""

import json
from functools import cache

from tokenizers import AddedToken

from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import byte_tokenizer

EOS = 2


@cache
def marked_tokenizer(words: tuple[str, ...]) -> Tokenizer:
    """Make a tokenizer with `words` as control tokens, which tests share because it never changes."""
    library = byte_tokenizer()
    library.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in words])
    return Tokenizer(json.loads(library.to_str()), bos_token_id=1, eos_token_ids=(EOS,))
