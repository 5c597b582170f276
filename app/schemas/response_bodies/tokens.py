"""Response body of /tokenize."""

from typing_extensions import TypedDict


class TokenCount(TypedDict):
    """The token ids of a text and their number."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: None
