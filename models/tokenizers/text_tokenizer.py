"""The tokenizer interface of Ebb, and the choice of an implementation for a model folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from models.errors import TokenizerError


class TextTokenizer(Protocol):
    """The tokenizer of one model.

    Control tokens are the special tokens and every token that ends a generation. A loaded tokenizer is immutable and
    thread-safe.
    """

    @property
    def bos_token_id(self) -> int | None:
        """Id of the token that begins texts; None if the model has none."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """Ids of the tokens that end a generation."""

    @property
    def control_tokens(self) -> Mapping[str, int]:
        """Ids of the control tokens by text."""

    @property
    def vocab_size(self) -> int:
        """Number of ids that have a token. The model's own vocabulary may be padded beyond this."""

    @property
    def drops_first_space(self) -> bool:
        """True if encoding adds a space before every span between control tokens, and decoding removes it again."""

    @property
    def most_ids(self) -> int | None:
        """Maximum number of ids per text; None for no limit."""

    @property
    def longest_text(self) -> int:
        """Number of characters beyond which every text raises TextTooLongError, regardless of its contents."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Encode `text` without adding tokens before or after it. Raise TextTooLongError beyond `most_ids`.

        Long texts are encoded in slices, so that other threads can run in between.

        special: encode the text of a control token as that token, not as plain text.
        """

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a raw prompt. Raise TextTooLongError beyond `most_ids`.

        The text of a control token becomes that token, and the tokens that the model requires around a text are added.
        """

    def decode(self, ids: Sequence[int]) -> str:
        """Decode `ids` without control tokens. Bytes that are not UTF-8 become U+FFFD."""

    def describe(self, ids: Sequence[int]) -> str:
        """Decode `ids` for display, with control tokens by name."""

    def token_bytes(self, id_: int) -> bytes:
        """Return the bytes of a token's text; b"" for control tokens and ids without a token."""


def load_tokenizer(path: Path, most_ids: int | None = None) -> TextTokenizer:
    """Load the tokenizer of the folder `path`: tokenizer.json if it exists, else tokenizer.model.

    most_ids: maximum number of ids per text; None for no limit.

    Raise TokenizerError if neither file exists, or if the file cannot be used.
    """
    # Imported here because each module imports a library that the other kind of tokenizer does not need.
    if (path / "tokenizer.json").is_file():
        from models.tokenizers.tokenizer import Tokenizer

        return Tokenizer.load(path, most_ids)
    if (path / "tokenizer.model").is_file():
        from models.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer

        return SentencePieceTokenizer.load(path, most_ids)
    raise TokenizerError(
        f"{path} has no tokenizer.json and no tokenizer.model; other tokenizer files are not supported"
    )
