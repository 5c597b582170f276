"""What a tokenizer is to the rest of Ebb, and which one a folder has."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from models.errors import TokenizerError


class TextTokenizer(Protocol):
    """The tokenizer of one model. Control tokens are the special ones and every token that ends a generation.

    Reading is thread-safe; nothing changes after it was loaded.
    """

    @property
    def bos_token_id(self) -> int | None:
        """The token that begins texts, if the model has one."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The tokens that end a generation."""

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """Their ids, by their texts."""

    @property
    def vocab_size(self) -> int:
        """How many ids have a token; the model's own vocabulary may be padded beyond it."""

    @property
    def drops_first_space(self) -> bool:
        """Whether encoding puts a space before every stretch of text between control tokens, so that decoding takes it
        away again."""

    @property
    def most_ids(self) -> int | None:
        """The most that a text may have; None: any number."""

    @property
    def longest_text(self) -> int:
        """The characters beyond which every text raises TextTooLongError, whatever it says."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the ids of `text`, with nothing put before or after.

        Long texts are encoded in slices, between which other threads run. special: whether the text of a control token
        becomes that token or stays plain text. Raises TextTooLongError.
        """

    def encode_prompt(self, text: str) -> list[int]:
        """Return the ids of a raw prompt. Raises TextTooLongError.

        Control tokens are seen, and what the model wants around a text is added.
        """

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; control tokens are left out, bytes that are no UTF-8 become U+FFFD."""

    def describe(self, ids: Sequence[int]) -> str:
        """The text of `ids` for a person: control tokens by their names."""

    def token_bytes(self, id_: int) -> bytes:
        """The bytes of this token's text: b"" for control tokens and ids without a token."""


def load_tokenizer(path: Path, most_ids: int | None = None) -> TextTokenizer:
    """Read the tokenizer of the folder `path`: tokenizer.json where there is one, else tokenizer.model.

    most_ids: the most that a text may have; None: any number.
    Raises TokenizerError when there is neither, or it cannot be used.
    """
    # Each imports a library that a model of the other kind does not need.
    if (path / "tokenizer.json").is_file():
        from models.tokenizer import Tokenizer

        return Tokenizer.load(path, most_ids)
    if (path / "tokenizer.model").is_file():
        from models.sentencepiece_tokenizer import SentencePieceTokenizer

        return SentencePieceTokenizer.load(path, most_ids)
    raise TokenizerError(f"{path} has no tokenizer.json and no tokenizer.model; other tokenizer files are not read")
